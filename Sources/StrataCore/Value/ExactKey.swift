/// A key that is compared by its bytes, because Swift's `==` treats strings that differ only in Unicode normalization
/// (NFC or NFD) as equal.
package struct ExactKey: Hashable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (left: ExactKey, right: ExactKey) -> Bool { isSame(left.text, right.text) }

  package func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }

  /// Returns whether two keys have the same bytes.
  @inline(__always)
  package static func isSame(_ left: String, _ right: String) -> Bool {
    guard left == right else { return false }
    let isSame = left.utf8.withContiguousStorageIfAvailable { left in
      right.utf8.withContiguousStorageIfAvailable { right in
        UnsafeRawBufferPointer(left).bytes.holdsSameBytes(as: UnsafeRawBufferPointer(right).bytes)
      }
    }
    return (isSame ?? nil) ?? left.utf8.elementsEqual(right.utf8)
  }
}
