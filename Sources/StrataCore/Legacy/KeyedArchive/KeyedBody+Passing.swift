// What no field takes must be right all the same.

extension KeyedBody {
  /// Checks what nothing refers to, since it may be damaged. Foundation leaves scalars there that it wrote before.
  mutating func checkOthers() throws {
    for number in marks.indices where marks[number] == 0 {
      let offset = try objects.offset(of: number)
      let marker = objects.marker(at: offset)
      let target = Target(number: number, offset: offset, marker: marker, isNull: false)
      switch marker >> 4 {
      case 0x8:
        let size = Int(marker & 0xF) &+ 1
        guard size <= 8 else { throw FastPathUnavailable() }
        try objects.check(size, at: offset)
        meet(number, size &+ 1)
      case 0xA, 0xD: throw FastPathUnavailable()
      default: try pass(target)
      }
    }
  }

  /// Passes a value that no field takes: scalars, and lists of them.
  mutating func pass(_ target: Target) throws {
    guard !target.isNull else { return }
    switch target.marker >> 4 {
    case 0x0 where target.marker == 0x08 || target.marker == 0x09: meet(target.number, 1)
    case 0x1: _ = try integer(at: target)
    case 0x2: _ = try double(at: target)
    case 0x5, 0x6: _ = try string(at: target)
    case 0xA:
      let width = objects.referenceSize
      let (start, count) = try objects.content(at: target.offset, width: width)
      meet(target.number, start - target.offset + count * width)
      try follow(count)
      for place in 0..<count { try pass(self.target(objects.reference(at: start + place * width))) }
      depth -= 1
    case 0xD:
      let (type, count, values, base) = try open(target)
      switch type {
      case .date: _ = try double(at: self.target(value(.time, of: 2, count, values, base)))
      case .string: _ = try string(at: self.target(value(.string, of: 2, count, values, base)))
      case .array:
        let list = try self.target(value(.objects, of: 2, count, values, base))
        guard list.marker >> 4 == 0xA else { throw FastPathUnavailable() }
        try pass(list)
      case .url:
        guard try self.target(value(.base, of: 3, count, values, base)).isNull else { throw FastPathUnavailable() }
        _ = try string(at: self.target(value(.relative, of: 3, count, values, base)))
      default: throw FastPathUnavailable()
      }
      openKeys.removeSubrange(base...)
      depth -= 1
    default: throw FastPathUnavailable()
    }
  }
}
