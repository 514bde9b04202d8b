package import GRDB
package import StrataCore

/// A column value that is compared by storage class and bytes. 1 and 1.0 are not equal. Strings with different bytes are not
/// equal, even if they are canonically equivalent.
package struct ExactValue: Hashable, Sendable {
  package let value: DatabaseValue

  package init(_ value: DatabaseValue) { self.value = value }

  package static func == (left: ExactValue, right: ExactValue) -> Bool {
    switch (left.value.storage, right.value.storage) {
    case (.null, .null): true
    case (.int64(let left), .int64(let right)): left == right
    case (.double(let left), .double(let right)): left == right
    // Swift's `==` would compare strings by canonical equivalence.
    case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
    case (.blob(let left), .blob(let right)): left == right
    default: false
    }
  }

  package func hash(into hasher: inout Hasher) {
    switch value.storage {
    case .null: hasher.combine(0)
    case .int64(let number): hasher.combine(number)
    case .double(let number): hasher.combine(number)
    case .string(let text):
      for byte in text.utf8 { hasher.combine(byte) }
      hasher.combine(UInt8.max)
    case .blob(let data): hasher.combine(data)
    }
  }
}

extension DatabaseValue {
  /// Returns whether two values have the same storage class and bytes.
  package func isExactly(_ other: DatabaseValue?) -> Bool { other.map { ExactValue(self) == ExactValue($0) } ?? false }

  /// The value as an `ArchiveValue` of the corresponding type.
  package var archiveValue: ArchiveValue {
    switch storage {
    case .null: .null
    case .int64(let number): .int(number)
    case .double(let number): .double(number)
    case .string(let text): .string(text)
    case .blob(let data): .data(data)
    }
  }
}
