// Keyed archives hold equal numbers once, so `true`, 1 and 1.0 may all be where one of them was archived first.

extension Bool {
  /// The boolean that 0 or 1 stands for in a keyed archive.
  package init?(inKeyed value: ArchiveValue, _ context: DecodingContext) {
    guard context.source == .keyedArchive else { return nil }
    switch value {
    case .int(0), .double(0), .float(0): self = false
    case .int(1), .double(1), .float(1): self = true
    default: return nil
    }
  }
}

extension FixedWidthInteger {
  /// The integer that another number stands for in a keyed archive.
  package init?(inKeyed value: ArchiveValue, _ context: DecodingContext) {
    guard context.source == .keyedArchive else { return nil }
    switch value {
    case .bool(let value): self = value ? 1 : 0
    case .double(let value): self.init(exactly: value)
    case .float(let value): self.init(exactly: value)
    default: return nil
    }
  }
}

extension Double {
  /// The number that a boolean stands for in a keyed archive.
  package init?(inKeyed value: ArchiveValue, _ context: DecodingContext) {
    guard context.source == .keyedArchive, case .bool(let value) = value else { return nil }
    self = value ? 1 : 0
  }
}
