public import Foundation

/// JSON Patch (RFC 6902): a list of operations that are applied to a document in sequence.
public struct JSONPatch: Sendable, Hashable {
  /// A single change to a document. The location that an operation names must exist, except for the target of `add`. A path consists of
  /// keys and indices, and a key consisting of digits acts as an index in an array. JSON text does not distinguish indices from keys, so
  /// the paths of a parsed patch contain only keys.
  public enum Operation: Sendable, Hashable {
    /// Adds a value under a key, or inserts it before an index of an array. `-` refers to the end of the array.
    case add(ValuePath, ArchiveValue)
    /// Removes a value.
    case remove(ValuePath)
    /// Replaces a value.
    case replace(ValuePath, ArchiveValue)
    /// Removes a value and adds it at another location.
    case move(from: ValuePath, to: ValuePath)
    /// Adds a copy of a value at another location.
    case copy(from: ValuePath, to: ValuePath)
    /// Fails if the value at the path is not equal to the given value. Numbers are compared by value.
    case test(ValuePath, ArchiveValue)
  }

  /// The operations, in the order in which they are applied.
  public var operations: [Operation]

  /// Creates a patch that applies the operations in the given order.
  public init(_ operations: [Operation] = []) { self.operations = operations }

  /// Parses a patch from JSON text.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` if the text is not a valid patch. An object with a duplicate key is also
  ///   invalid, because programs differ in which of its values they use.
  public init(parsing data: Data) throws {
    try self.init(json: JSONReader.refusingDuplicates().read(data))
  }

  /// Creates a patch from a JSON value: an array of objects with `op` and `path`. Unknown keys are ignored.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` if the value is not a valid patch. The path of the error contains the index of
  ///   the invalid operation.
  public init(json: ArchiveValue) throws {
    guard case .array(let elements) = json else {
      throw ArchiveError(.invalidJSON, "a JSON patch must be an array of operations")
    }
    operations = try elements.enumerated().map { place, element in
      do { return try Operation(element) } catch { throw ArchiveError.at(.index(place), error) }
    }
  }

  /// The patch as a JSON value.
  public var json: ArchiveValue { .array(operations.map(\.json)) }

  /// Applies the patch to a document. Either all operations succeed, or an error is thrown.
  ///
  /// Keys of records are treated like keys of objects. Numbers are compared by all of their digits: a test accepts 1.0 for 1 and `10e399`
  /// for `1e400`, but not 9007199254740993 for 9007199254740992.0. The digits of a floating-point number are those of its shortest decimal
  /// text, as in JSON.
  ///
  /// - Parameters:
  ///   - document: the document to patch; it is not changed.
  ///   - limits: ``ArchiveLimits/depth`` limits the depth of arrays and objects in the original document, in the result and in added
  ///     values. The limit is at most ``JSONReader/maximumDepth``. The other limits are ignored.
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` if a location does not exist, a test fails, a value is moved into itself, or
  ///   the whole document is removed. The code is `limitExceeded` if values are nested too deeply, or if the operations add more than
  ///   1,048,576 values and also more than 16 times the number of values in the document and the patch. Repeated copies of copies soon
  ///   exceed this limit. The path of the error begins with the index of the operation, unless the original document is too deep, or the
  ///   result is too deep only because of moves.
  /// - Complexity: linear in the sizes of the document, the patch and the copied values, times the length of the paths. Inserting into or
  ///   removing from an array takes about the square root of the array's length.
  public func applied(to document: ArchiveValue, limits: ArchiveLimits = ArchiveLimits()) throws -> ArchiveValue {
    var tree = try PatchTree(document, operations, depthLimit: min(limits.depth, JSONReader.maximumDepth))
    for (place, operation) in operations.enumerated() {
      do { try operation.apply(to: &tree) } catch { throw ArchiveError.at(.index(place), error) }
    }
    return try tree.result()
  }

  /// Creates a patch that turns `old` into `new` by adding, removing and replacing the keys and elements that differ.
  ///
  /// NaN is considered equal to NaN, so an unchanged NaN is not part of the patch. JSON text cannot represent a patch that contains NaN.
  ///
  /// - Complexity: the same as for ``ValueDifference``. The rules of ``ValueDifference`` for arrays without keys apply to all arrays.
  public init(from old: ArchiveValue, to new: ArchiveValue) {
    operations = ValueDifference(from: old, to: new, key: nil).changes.map { change in
      let path = ValuePath(
        change.path.components.map { if case .index(let index) = $0 { .key(String(index)) } else { $0 } })
      guard let new = change.new else { return .remove(path) }
      return change.kind == .added ? .add(path, new) : .replace(path, new)
    }
  }
}

extension JSONPatch.Operation {
  fileprivate init(_ value: ArchiveValue) throws {
    guard case .object(let object) = value, case .string(let name)? = object["op"] else {
      throw ArchiveError(.invalidJSON, "each operation of a JSON patch must be an object with the key \"op\"")
    }
    func pointer(_ key: String) throws -> ValuePath {
      guard case .string(let text)? = object[key] else {
        throw ArchiveError(
          .invalidJSON, "the patch operation has no JSON pointer in the key \"\(key)\"", path: [.key(key)])
      }
      do { return try ValuePath(pointer: text) } catch { throw ArchiveError.at(.key(key), error) }
    }
    func operand() throws -> ArchiveValue {
      guard let value = object["value"] else {
        throw ArchiveError(.invalidJSON, "the patch operation has no key \"value\"", path: [.key("value")])
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
        .invalidJSON, "the value of \"op\" must be \"add\", \"remove\", \"replace\", \"move\", \"copy\" or \"test\"",
        path: [.key("op")])
    }
  }

  fileprivate var json: ArchiveValue {
    func object(_ name: String, _ path: ValuePath, _ more: (String, ArchiveValue)?...) -> ArchiveValue {
      let entries: [(String, ArchiveValue)] =
        [("op", .string(name)), ("path", .string(path.pointer))] + more.compactMap(\.self)
      return .object(ArchiveObject(entries.map { .init(key: $0.0, value: $0.1) }))
    }
    return switch self {
    case .add(let path, let value): object("add", path, ("value", value))
    case .remove(let path): object("remove", path)
    case .replace(let path, let value): object("replace", path, ("value", value))
    case .move(let from, let to): object("move", to, ("from", .string(from.pointer)))
    case .copy(let from, let to): object("copy", to, ("from", .string(from.pointer)))
    case .test(let path, let value): object("test", path, ("value", value))
    }
  }

  fileprivate func apply(to tree: inout PatchTree) throws {
    func tokens(_ path: ValuePath) throws -> [String] {
      _ = try path.steps(.mergeFailed)
      return path.tokens
    }
    switch self {
    case .add(let path, let value): try tree.add(value, at: tokens(path))
    case .remove(let path): try tree.remove(tokens(path))
    case .replace(let path, let value): try tree.replace(value, at: tokens(path))
    case .move(let from, let to): try tree.move(tokens(from), to: tokens(to))
    case .copy(let from, let to): try tree.copy(tokens(from), to: tokens(to))
    case .test(let path, let value):
      guard try tree.isEqual(tokens(path), to: value) else {
        throw ArchiveError(
          .mergeFailed, "a \"test\" operation failed because the value at its path differs from the expected value")
      }
    }
  }
}

extension JSONPatch.Operation: CustomStringConvertible {
  /// The name and the location of the operation, without the value, such as `replace /title`.
  public var description: String {
    func name(_ pointer: ValuePath) -> String { pointer.components.isEmpty ? "the whole document" : pointer.pointer }
    return
      switch self
    {
    case .add(let pointer, _): "add \(name(pointer))"
    case .remove(let pointer): "remove \(name(pointer))"
    case .replace(let pointer, _): "replace \(name(pointer))"
    case .move(let from, let to): "move \(name(from)) to \(name(to))"
    case .copy(let from, let to): "copy \(name(from)) to \(name(to))"
    case .test(let pointer, _): "test \(name(pointer))"
    }
  }
}

extension JSONPatch: CustomStringConvertible {
  /// The operations on one line, without their values, which may be private. To include the values, use ``json``.
  public var description: String {
    operations.isEmpty ? "no operations" : operations.map(\.description).joined(separator: ", ").onOneLine
  }
}
