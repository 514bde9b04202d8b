import Foundation
internal import StrataCore

/// The encoded fields of one object in a keyed archive.
struct KeyedFields {
  var keys: [String]
  var values: [ArchiveValue]

  subscript(key: String) -> ArchiveValue? { keys.firstIndex(of: key).map { values[$0] } }

  /// Returns the value under a key, converted by `read`.
  ///
  /// - Throws: `ArchiveError` with the code `damaged` if the value is absent or if `read` returns `nil`.
  func required<T>(_ key: String, _ expected: String, _ read: (ArchiveValue) -> T?) throws -> T {
    guard let value = self[key], let found = read(value) else {
      throw ArchiveError(.damaged, "the value of the key \(key) must be \(expected)", path: [.key(key)])
    }
    return found
  }

  func string(_ key: String) throws -> String { try required(key, "a string", \.stringValue) }
  func integer(_ key: String) throws -> Int { try required(key, "an integer", \.intValue) }
  func double(_ key: String) throws -> Double { try required(key, "a number", \.doubleValue) }

  func data(_ key: String) throws -> Data {
    try required(key, "binary data") { if case .data(let data) = $0 { data } else { nil } }
  }

  /// The keys under which a collection stores its elements: a single key with an array, or a numbered key for each
  /// element, as in older archives.
  struct Elements {
    let list: String
    let prefix: String

    func has(_ key: String) -> Bool {
      if key == list { return true }
      guard key.hasPrefix(prefix) else { return false }
      let number = key.utf8.dropFirst(prefix.utf8.count)
      return !number.isEmpty
        && number.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    }
  }

  /// Returns the elements of a collection, or an empty array if none of the given keys exists.
  ///
  /// - Throws: `ArchiveError` with the code `damaged` if an element is missing, or if the collection has both the array
  ///   and numbered keys.
  func elements(_ keys: Elements) throws -> [ArchiveValue] {
    let list = self[keys.list]
    var byKey: [String: ArchiveValue] = [:]
    for (key, value) in zip(self.keys, values) where key != keys.list && keys.has(key) {
      byKey[key] = value
    }
    if let list {
      guard let elements = list.arrayValue else {
        throw ArchiveError(.damaged, "the value of the key \(keys.list) must be an array", path: [.key(keys.list)])
      }
      guard byKey.isEmpty else {
        throw ArchiveError(
          .damaged, "a collection has elements both in an array and under separate keys")
      }
      return elements
    }
    var elements: [ArchiveValue] = []
    while let value = byKey[keys.prefix + String(elements.count)] { elements.append(value) }
    guard elements.count == byKey.count else {
      throw ArchiveError(
        .damaged, "element \(elements.count) of a collection is missing", path: [.key(keys.prefix)])
    }
    return elements
  }
}
