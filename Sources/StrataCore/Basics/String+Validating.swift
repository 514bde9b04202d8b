// `String.init(validating:as:)` of the standard library needs macOS 15 and iOS 18. A repaired string differs from its input.

extension String {
  /// The text of bytes in UTF-8; `nil` if they are not valid.
  package init?(validUTF8 bytes: some Collection<UInt8>) {
    self.init(decoding: bytes, as: UTF8.self)
    if !utf8.elementsEqual(bytes) { return nil }
  }

  /// The text of units in UTF-16; `nil` if they are not valid.
  package init?(validUTF16 units: some Collection<UInt16>) {
    self.init(decoding: units, as: UTF16.self)
    if !utf16.elementsEqual(units) { return nil }
  }
}
