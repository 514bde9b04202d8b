internal import StrataCore

extension ArchiveValue {
  static func orNull(_ text: String?) -> ArchiveValue { text.map { .string($0) } ?? .null }

  static func orNull(_ number: (some BinaryInteger)?) -> ArchiveValue { number.map { .integer($0) } ?? .null }
}
