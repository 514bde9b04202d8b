import Foundation

/// What an object of a keyed archive encoded, by key.
struct KeyedFields {
  var keys: [String]
  var values: [Value]

  subscript(key: String) -> Value? { keys.firstIndex(of: key).map { values[$0] } }

  /// The value of a kind under a key.
  ///
  /// - Throws: ``ArchiveError`` with the code `damaged` where it is absent or another.
  func required<T>(_ key: String, _ expected: String, _ read: (Value) -> T?) throws -> T {
    guard let value = self[key], let found = read(value) else {
      throw ArchiveError(.damaged, "\(expected) is expected", path: [.key(key)])
    }
    return found
  }

  func string(_ key: String) throws -> String { try required(key, "a string", \.stringValue) }
  func integer(_ key: String) throws -> Int { try required(key, "an integer", \.intValue) }
  func double(_ key: String) throws -> Double { try required(key, "a number", \.doubleValue) }

  func data(_ key: String) throws -> Data {
    try required(key, "data") { if case .data(let data) = $0 { data } else { nil } }
  }

  /// The elements under `NS.objects`, or under `NS.object.0`, `NS.object.1` … as older archivers have them.
  func elements(_ list: String, _ prefix: String) throws -> [Value] {
    if let value = self[list] {
      guard let elements = value.arrayValue else {
        throw ArchiveError(.damaged, "an array is expected", path: [.key(list)])
      }
      return elements
    }
    var byKey: [String: Value] = [:]
    for (key, value) in zip(keys, values) where key.hasPrefix(prefix) { byKey[key] = value }
    var elements: [Value] = []
    while let value = byKey[prefix + String(elements.count)] { elements.append(value) }
    guard elements.count == byKey.count else {
      throw ArchiveError(.damaged, "element \(elements.count) is missing", path: [.key(prefix)])
    }
    return elements
  }
}
