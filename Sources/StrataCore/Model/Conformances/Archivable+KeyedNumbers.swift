// Keyed archives store equal numbers only once: `true`, 1 and 1.0 may all be stored as whichever of them was archived first. The following
// initializers therefore accept any of the three.

extension Bool {
  /// Creates a boolean from the number 0 or 1 in a keyed archive.
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
  /// Creates an integer from a boolean or a floating-point number in a keyed archive.
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
  /// Creates a floating-point number from a boolean in a keyed archive.
  package init?(inKeyed value: ArchiveValue, _ context: DecodingContext) {
    guard context.source == .keyedArchive, case .bool(let value) = value else { return nil }
    self = value ? 1 : 0
  }
}
