// These initializers are used instead of `String.init(validating:as:)`, which needs macOS 15 and iOS 18. They detect invalid
// input by comparing the input with the repaired string.

extension String {
  /// Decodes UTF-8. Returns `nil` if the bytes are not valid UTF-8.
  package init?(validUTF8 bytes: some Collection<UInt8>) {
    self.init(decoding: bytes, as: UTF8.self)
    if !utf8.elementsEqual(bytes) { return nil }
  }

  /// Decodes UTF-16. Returns `nil` if the code units are not valid UTF-16.
  package init?(validUTF16 units: some Collection<UInt16>) {
    self.init(decoding: units, as: UTF16.self)
    if !utf16.elementsEqual(units) { return nil }
  }
}
