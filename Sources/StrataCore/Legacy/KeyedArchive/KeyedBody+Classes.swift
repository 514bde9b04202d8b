import Foundation

/// What objects of a class become in the body of an archive.
enum KeyedBodyClass {
  /// The number of a model.
  case model(Int)
  case date, array, set, string, url, dictionary
  /// A plain value with nothing but scalars inside.
  case other(FoundationValue)

  init(_ plain: FoundationValue) throws {
    switch plain {
    case .date: self = .date
    case .array: self = .array
    case .string: self = .string
    case .url: self = .url
    case .dictionary: self = .dictionary
    case .data, .uuid, .decimal, .number: self = .other(plain)
    case .set: self = .set
    case .countedSet, .null: throw BinaryObjects.FastPathUnavailable()
    }
  }
}

extension KeyedBody {
  mutating func type(at number: Int) throws -> KeyedBodyClass {
    let target = try target(number)
    if target.number == lastClass.number { return classes[lastClass.place] }
    if let place = classPlaces[target.number] {
      lastClass = (target.number, place)
      return classes[place]
    }
    guard target.marker >> 4 == 0xD, !target.isNull else { throw FastPathUnavailable() }
    let type = try readType(target.number)
    lastClass = (target.number, classes.count)
    classPlaces[target.number] = classes.count
    classes.append(type)
    return type
  }

  private mutating func readType(_ number: Int) throws -> KeyedBodyClass {
    var name = ""
    var chain: [String] = []
    for (key, value) in try entries(at: number) {
      switch key {
      case "$classname": name = try self.name(value)
      case "$classes":
        let list = try target(value)
        guard list.marker >> 4 == 0xA else { throw FastPathUnavailable() }
        let (start, count) = try objects.content(at: list.offset, width: objects.referenceSize)
        guard count > 0, count <= 64 else { throw FastPathUnavailable() }
        meet(list.number, start - list.offset + count * objects.referenceSize)
        for place in 0..<count {
          chain.append(try self.name(objects.reference(at: start + place * objects.referenceSize)))
        }
      default: throw FastPathUnavailable()
      }
    }
    guard !name.isEmpty else { throw FastPathUnavailable() }
    let type = KeyedClass(name: name, chain: chain.isEmpty ? [name] : chain, hints: [])
    if let plain = FoundationValue.find(type) { return try KeyedBodyClass(plain) }
    guard FoundationRecord.isPlain(name), let schema = models.schema(of: name), !schema.isEnumeration else {
      throw FastPathUnavailable()
    }
    return .model(self.number(of: schema))
  }

  /// Writes a dictionary whose keys are text.
  mutating func writeMap(_ names: Target, _ elements: Target, _ model: Int) throws {
    guard names.marker >> 4 == 0xA, elements.marker >> 4 == 0xA else { throw FastPathUnavailable() }
    let width = objects.referenceSize
    let (keyStart, count) = try objects.content(at: names.offset, width: width)
    let (start, valueCount) = try objects.content(at: elements.offset, width: width)
    guard count == valueCount else { throw FastPathUnavailable() }
    meet(names.number, keyStart - names.offset + count * width)
    meet(elements.number, start - elements.offset + count * width)
    try follow(2 * count)
    writer.beginMap(count: count)
    for place in 0..<count {
      let key = try target(objects.reference(at: keyStart + place * width))
      guard !key.isNull else { throw FastPathUnavailable() }
      try writeText(key)
      try write(target(objects.reference(at: start + place * width)), .other, model)
    }
    depth -= 1
  }

  /// Writes a plain value of a rarer class.
  mutating func write(_ plain: FoundationValue, _ count: Int, _ values: Int, _ base: Int) throws {
    guard count <= 8 else { throw FastPathUnavailable() }
    var fields = KeyedFields(keys: [], values: [])
    for place in 0..<count where openKeys[base + place] != KeyedKeys.Known.type.rawValue {
      let key = keys.texts[Int(openKeys[base + place])]
      guard !key.hasPrefix("$"), !fields.keys.contains(key) else { throw FastPathUnavailable() }
      let target = try target(objects.reference(at: values + place * objects.referenceSize))
      guard !target.isNull else { throw FastPathUnavailable() }
      fields.keys.append(key)
      switch target.marker >> 4 {
      case 0x0 where target.marker == 0x08 || target.marker == 0x09:
        meet(target.number, 1)
        fields.values.append(.bool(target.marker == 0x09))
      case 0x1: fields.values.append(.int(try integer(at: target)))
      case 0x2: fields.values.append(.double(try double(at: target)))
      case 0x4:
        let (start, count) = try bytes(of: target)
        fields.values.append(.data(objects.bytes.extracting(start..<start + count).withUnsafeBytes { Data($0) }))
      case 0x5, 0x6: fields.values.append(.string(try string(at: target)))
      default: throw FastPathUnavailable()
      }
    }
    // The key of the class may stand once.
    guard fields.keys.count == count - 1, plain.reads(fields.keys) else { throw FastPathUnavailable() }
    try writer.write(plain.make(fields, digests))
  }
}
