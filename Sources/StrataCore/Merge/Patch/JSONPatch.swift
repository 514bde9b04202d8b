public import Foundation

/// JSON Patch (RFC 6902): a list of operations that change a document one after the other.
public struct JSONPatch: Sendable, Hashable {
  public enum Operation: Sendable, Hashable {
    /// Puts a value in: under a key, or in front of a place of an array; `-` is behind its last.
    case add(JSONPointer, Value)
    case remove(JSONPointer)
    case replace(JSONPointer, Value)
    case move(from: JSONPointer, to: JSONPointer)
    case copy(from: JSONPointer, to: JSONPointer)
    /// Fails where the value there is another one. Numbers are compared as numbers.
    case test(JSONPointer, Value)
  }

  public var operations: [Operation]

  public init(_ operations: [Operation] = []) { self.operations = operations }

  /// Reads a patch from JSON text.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON`.
  public init(parsing data: Data) throws { try self.init(json: JSONReader().read(data)) }

  /// Reads a patch from a JSON value: an array of objects with `op` and `path`. Other keys are passed over.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON`, with the place of the operation in its path.
  public init(json: Value) throws {
    guard case .array(let elements) = json else {
      throw ArchiveError(.invalidJSON, "a JSON patch is an array of operations")
    }
    operations = try elements.enumerated().map { place, element in
      do { return try Operation(element) } catch { throw ArchiveError.at(.index(place), error) }
    }
  }

  /// The patch as a JSON value.
  public var json: Value { .array(operations.map(\.json)) }

  /// The document that the patch makes of another one: all operations, or an error.
  ///
  /// Keys of records count as those of objects.
  ///
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` where a place does not exist, a test fails or a value is
  ///   moved into itself, with the place of the operation in its path.
  public func applied(to document: Value) throws -> Value {
    var result = document
    for (place, operation) in operations.enumerated() {
      do { try operation.apply(to: &result) } catch { throw ArchiveError.at(.index(place), error) }
    }
    return result
  }

  /// A patch that makes `new` of `old`: keys and elements are added, removed and replaced where they differ.
  ///
  /// - Complexity: as ``ValueDifference``, whose rules for arrays without keys hold for all arrays here.
  public init(from old: Value, to new: Value) {
    var operations: [Operation] = []
    Self.compare(old, new, [], &operations)
    self.operations = operations
  }

  private static func compare(_ old: Value, _ new: Value, _ path: [String], _ operations: inout [Operation]) {
    guard old != new else { return }
    switch (old, new) {
    case (.object(let before), .object(let after)):
      for key in before.keys where after[key] == nil { operations.append(.remove(JSONPointer(path + [key]))) }
      for entry in after.entries {
        guard let value = before[entry.key] else {
          operations.append(.add(JSONPointer(path + [entry.key]), entry.value))
          continue
        }
        compare(value, entry.value, path + [entry.key], &operations)
      }
    case (.array(let before), .array(let after)):
      if before.count == after.count {
        for (place, (old, new)) in zip(before, after).enumerated() {
          compare(old, new, path + [String(place)], &operations)
        }
        return
      }
      guard before.count + after.count <= 4000 else { fallthrough }
      let difference = after.difference(from: before)
      for case .remove(let place, _, _) in difference.removals.reversed() {
        operations.append(.remove(JSONPointer(path + [String(place)])))
      }
      for case .insert(let place, let value, _) in difference.insertions {
        operations.append(.add(JSONPointer(path + [String(place)]), value))
      }
    default: operations.append(.replace(JSONPointer(path), new))
    }
  }
}

extension JSONPatch.Operation {
  fileprivate init(_ value: Value) throws {
    guard case .object(let object) = value, case .string(let name)? = object["op"] else {
      throw ArchiveError(.invalidJSON, "an operation is an object with the key op")
    }
    func pointer(_ key: String) throws -> JSONPointer {
      guard case .string(let text)? = object[key] else {
        throw ArchiveError(.invalidJSON, "the operation needs a JSON pointer", path: [.key(key)])
      }
      do { return try JSONPointer(parsing: text) } catch { throw ArchiveError.at(.key(key), error) }
    }
    func operand() throws -> Value {
      guard let value = object["value"] else {
        throw ArchiveError(.invalidJSON, "the operation needs a value", path: [.key("value")])
      }
      return value
    }
    switch name {
    case "add": self = .add(try pointer("path"), try operand())
    case "remove": self = .remove(try pointer("path"))
    case "replace": self = .replace(try pointer("path"), try operand())
    case "move": self = .move(from: try pointer("from"), to: try pointer("path"))
    case "copy": self = .copy(from: try pointer("from"), to: try pointer("path"))
    case "test": self = .test(try pointer("path"), try operand())
    default:
      throw ArchiveError(
        .invalidJSON, "an operation is add, remove, replace, move, copy or test", path: [.key("op")])
    }
  }

  fileprivate var json: Value {
    func object(_ name: String, _ path: JSONPointer, _ more: (String, Value)?...) -> Value {
      let entries: [(String, Value)] =
        [("op", .string(name)), ("path", .string(path.description))] + more.compactMap(\.self)
      return .object(Object(entries.map { .init(key: $0.0, value: $0.1) }))
    }
    return switch self {
    case .add(let path, let value): object("add", path, ("value", value))
    case .remove(let path): object("remove", path)
    case .replace(let path, let value): object("replace", path, ("value", value))
    case .move(let from, let to): object("move", to, ("from", .string(from.description)))
    case .copy(let from, let to): object("copy", to, ("from", .string(from.description)))
    case .test(let path, let value): object("test", path, ("value", value))
    }
  }

  fileprivate func apply(to document: inout Value) throws {
    switch self {
    case .add(let path, let value): try document.edit(path.tokens[...]) { try $0.add(value, $1) }
    case .remove(let path): try document.edit(path.tokens[...]) { try $0.remove($1) }
    case .replace(let path, let value): try document.edit(path.tokens[...]) { try $0.replace(value, $1) }
    case .move(let from, let to):
      if from == to {
        _ = try document.value(at: from)
        return
      }
      guard !to.tokens.starts(with: from.tokens) else {
        throw ArchiveError(.mergeFailed, "a value cannot be moved into itself")
      }
      let value = try document.value(at: from)
      try document.edit(from.tokens[...]) { try $0.remove($1) }
      try document.edit(to.tokens[...]) { try $0.add(value, $1) }
    case .copy(let from, let to):
      let value = try document.value(at: from)
      try document.edit(to.tokens[...]) { try $0.add(value, $1) }
    case .test(let path, let value):
      guard try document.value(at: path).isEqualJSON(value) else {
        throw ArchiveError(.mergeFailed, "a test failed: the value there is another one")
      }
    }
  }
}

extension Value {
  private static var noPlace: ArchiveError {
    ArchiveError(.mergeFailed, "the document has no such place")
  }

  fileprivate func value(at pointer: JSONPointer) throws -> Value {
    var value = self
    for token in pointer.tokens { value = try value.member(token) }
    return value
  }

  private func member(_ token: String) throws -> Value {
    if case .array(let elements) = self {
      guard let place = JSONPointer.place(token), elements.indices.contains(place) else { throw Self.noPlace }
      return elements[place]
    }
    guard let value = self[token] else { throw Self.noPlace }
    return value
  }

  /// Changes what holds the place; the whole document has no holder, which is what no token says.
  fileprivate mutating func edit(
    _ tokens: ArraySlice<String>, _ change: (inout Value, String?) throws -> Void
  ) throws {
    guard let first = tokens.first else { return try change(&self, nil) }
    guard tokens.count > 1 else { return try change(&self, first) }
    var child = try member(first)
    try child.edit(tokens.dropFirst(), change)
    try replace(child, first)
  }

  fileprivate mutating func add(_ value: Value, _ token: String?) throws {
    guard let token else {
      self = value
      return
    }
    switch self {
    case .object(var object):
      object[token] = value
      self = .object(object)
    case .record(var record):
      record[token] = value
      self = .record(record)
    case .array(var elements):
      let place = token == "-" ? elements.count : JSONPointer.place(token)
      guard let place, place <= elements.count else { throw Self.noPlace }
      elements.insert(value, at: place)
      self = .array(elements)
    default: throw Self.noPlace
    }
  }

  fileprivate mutating func remove(_ token: String?) throws {
    guard let token else {
      throw ArchiveError(.mergeFailed, "the whole document cannot be removed")
    }
    _ = try member(token)
    switch self {
    case .object(var object):
      object[token] = nil
      self = .object(object)
    case .record(var record):
      record[token] = nil
      self = .record(record)
    case .array(var elements):
      guard let place = JSONPointer.place(token) else { throw Self.noPlace }
      elements.remove(at: place)
      self = .array(elements)
    default: throw Self.noPlace
    }
  }

  fileprivate mutating func replace(_ value: Value, _ token: String?) throws {
    guard let token else {
      self = value
      return
    }
    _ = try member(token)
    switch self {
    case .array(var elements):
      guard let place = JSONPointer.place(token) else { throw Self.noPlace }
      elements[place] = value
      self = .array(elements)
    default: try add(value, token)
    }
  }

  /// Equality of RFC 6902 section 4.6: numbers by their value, texts by their code points.
  fileprivate func isEqualJSON(_ other: Value) -> Bool {
    switch (self, other) {
    case (.array(let own), .array(let other)):
      return own.count == other.count && zip(own, other).allSatisfy { $0.isEqualJSON($1) }
    case (.object(let own), .object(let other)):
      return own.count == other.count
        && own.entries.allSatisfy { entry in other[entry.key].map { entry.value.isEqualJSON($0) } ?? false }
    case (.string(let own), .string(let other)): return ExactKey.isSame(own, other)
    default: return self == other || ValueOrder.compare(self, other) == 0
    }
  }
}
