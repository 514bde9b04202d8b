import Foundation
public import Strata

// These checks run for each declaration of the catalogue. They are compiled only once, as the `Declarations` module.

/// An error that reports a failed check of a declaration.
public struct Wrong: Error, CustomStringConvertible {
  public let description: String
  init(_ description: String) { self.description = description }

  public static func unexpected(_ what: String) -> Wrong { Wrong(what) }
}

/// Runs the checks of a declaration and prints a line with the result.
public func declared(_ name: String, _ body: () throws -> Void) {
  do {
    try body()
    print("ok\t\(name)")
  } catch { print("wrong\t\(name)\t\("\(error)".replacing("\n", with: " "))") }
}

/// Sends a value through an archive, JSON, a dictionary, a copy, a merge, and an upgrade from a record of an older version.
///
/// Results are compared by the bytes of their archives, so the declaration needs no `Equatable` conformance.
///
/// - Parameters:
///   - others: values whose archives must differ from the archive of `value`.
public func works<M: VersionedModel>(_ value: M, others: [M] = []) throws {
  let archive = try ArchiveEncoder().encode(value)
  func same(_ other: M, _ way: String) throws {
    guard try ArchiveEncoder().encode(other) == archive else {
      throw Wrong("\(way) gives \(try other.dictionaryValue) and not \(try value.dictionaryValue)")
    }
  }
  for other in others where try ArchiveEncoder().encode(other) == archive {
    throw Wrong("another value has the same archive")
  }
  try same(ArchiveDecoder().decode(M.self, from: archive), "the archive")
  let text = try value.jsonData()
  try same(M(fromJSON: text), "JSON")
  try same(M(fromJSON: JSONReader().read(text)), "a value of JSON")
  let dictionary = try value.dictionaryValue
  if try value.jsonData() != Data("{}".utf8), dictionary.isEmpty { throw Wrong("the dictionary is empty") }
  try same(M(dictionary: dictionary), "the dictionary")
  try same(value.copy(), "the copy")
  let described = value.fieldDescription()
  guard described.hasPrefix(M.schema.name.prefix { $0 != "<" }) else { throw Wrong("it is described as \(described)") }
  for other in others + [try ArchiveDecoder().decode(M.self, from: archive)] {
    var merged = try other.copy()
    try merged.mergeValues(from: value)
    try same(merged, "the merge")
    merged = try other.copy()
    try merged.merge(.json(value.jsonData()), options: MergeOptions(unlisted: .remove))
    try same(merged, "the merge of JSON")
  }
  guard var record = try record(of: archive), M.schema.modelVersion > 0 else { return }
  record.modelVersion = M.schema.modelVersion - 1
  guard M.schema.modelVersion > 1 else { return }
  try same(ArchiveDecoder().decode(M.self, from: ArchiveEncoder().encode(record)), "the upgrade")
}

/// Sends objects through an archive. JSON, dictionaries and copies aren't tested, because they are trees.
public func worksAsGraph<M: VersionedModel>(_ value: M) throws {
  let archive = try ArchiveEncoder().encode(value)
  guard try ArchiveEncoder().encode(ArchiveDecoder().decode(M.self, from: archive)) == archive else {
    throw Wrong("the archive gives something else")
  }
}

private func record(of archive: Data) throws -> ModelRecord? {
  guard case .record(let record) = try ArchiveDecoder().decode(ArchiveValue.self, from: archive) else { return nil }
  return record
}

/// Throws if two texts differ.
public func same(_ found: String, _ expected: String) throws {
  guard found == expected else { throw Wrong("found \(found), expected \(expected)") }
}

/// Throws if a condition does not hold.
public func holds(_ condition: Bool, _ what: String) throws {
  guard condition else { throw Wrong(what) }
}
