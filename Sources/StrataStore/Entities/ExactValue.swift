package import GRDB

/// A value of a column as SQLite tells it from others by bytes: texts that only look the same are two, and a number is no integer.
package struct ExactValue: Hashable, Sendable {
  package let value: DatabaseValue

  package init(_ value: DatabaseValue) { self.value = value }

  package static func == (left: ExactValue, right: ExactValue) -> Bool {
    switch (left.value.storage, right.value.storage) {
    case (.null, .null): true
    case (.int64(let left), .int64(let right)): left == right
    case (.double(let left), .double(let right)): left == right
    // Swift compares texts as people read them.
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
  /// Whether two values are one, byte by byte.
  package func isExactly(_ other: DatabaseValue?) -> Bool { other.map { ExactValue(self) == ExactValue($0) } ?? false }
}
