internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// A part of a column's value, identified by a path of keys. An empty path identifies the whole value.
struct ValuePart: Sendable, Hashable {
  let keys: [String]

  /// Creates a part from the path of a conflict, which begins with the key of the column. The path is cut off at the first list index,
  /// because a list can only conflict as a whole.
  init(_ path: ValuePath) {
    var keys: [String] = []
    for component in path.components.dropFirst() {
      guard case .key(let key) = component else { break }
      keys.append(key)
    }
    self.keys = keys
  }

  static let whole = ValuePart(ValuePath())

  /// The keys as JSON text, which is how the part is stored in a database column.
  var text: String {
    get throws { String(decoding: try JSONWriter().write(.array(keys.map { .string($0) })), as: UTF8.self) }
  }

  init(text: String) throws {
    keys = try (JSONReader().read(Data(text.utf8)).arrayValue ?? []).compactMap(\.stringValue)
  }

  private var steps: [ArchiveValue.Step] { keys.map { .key($0) } }

  /// Returns this part of a value, or `nil` if the value does not have this part.
  func value(of whole: ArchiveValue) -> ArchiveValue? {
    steps.reduce(whole as ArchiveValue?) { value, step in value?[step] }
  }

  /// Returns `whole` with this part replaced by the same part of `other`. If `other` does not have the part, the part
  /// is removed.
  func replaced(in whole: ArchiveValue, by other: ArchiveValue) throws -> ArchiveValue {
    try replaced(in: whole, with: value(of: other))
  }

  func replaced(in whole: ArchiveValue, with new: ArchiveValue?) throws -> ArchiveValue {
    guard !keys.isEmpty else { return new ?? .null }
    var result = whole
    try result.set(new, at: steps[...])
    return result
  }
}

extension MappedEntity {
  /// Returns the stored value of a field with one part replaced by the same part of `other`.
  func replacing(_ part: ValuePart, of stored: DatabaseValue, in field: Field, by other: DatabaseValue) throws
    -> DatabaseValue
  {
    guard case .attribute(let place) = field.source, !part.keys.isEmpty else { return other }
    return try self.stored(part.replaced(in: value(stored, place), by: value(other, place)), place)
  }
}
