public import Foundation

/// JSON Patch (RFC 6902): a list of operations that are applied to a document one after the other.
public struct JSONPatch: Sendable, Hashable {
  /// One change of a document. The location that an operation names must exist, except for the target of `add`. A path has
  /// keys and indices, and a key of digits is an index in an array. JSON has no indices: a parsed patch has keys of digits
  /// in their place.
  public enum Operation: Sendable, Hashable {
    /// Adds a value: under a key, or before an index of an array; `-` is the end of the array.
    case add(ValuePath, ArchiveValue)
    /// Removes a value.
    case remove(ValuePath)
    /// Replaces a value.
    case replace(ValuePath, ArchiveValue)
    /// Removes a value and adds it at another location.
    case move(from: ValuePath, to: ValuePath)
    /// Adds a copy of a value at another location.
    case copy(from: ValuePath, to: ValuePath)
    /// Fails if the value is a different one. Numbers are compared as numbers.
    case test(ValuePath, ArchiveValue)
  }

  /// The operations, in the order in which they are applied.
  public var operations: [Operation]

  /// Creates a patch of these operations, in their order.
  public init(_ operations: [Operation] = []) { self.operations = operations }

  /// Parses a patch from JSON text.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON`, also if an object has a duplicate key, because other
  ///   programs may take the other value.
  public init(parsing data: Data) throws {
    try self.init(json: JSONReader.refusingDuplicates().read(data))
  }

  /// Creates a patch from a JSON value: an array of objects with `op` and `path`. Unknown keys are ignored.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON`, with the index of the operation in its path.
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

  /// Applies the patch to a document: all operations, or an error.
  ///
  /// Keys of records count as those of objects. Numbers are compared by all of their digits: a test accepts 1.0 for 1 and
  /// `10e399` for `1e400`, but not 9007199254740993 for 9007199254740992.0. A floating-point number counts as
  /// its shortest text, which is its form in JSON.
  ///
  /// - Parameters:
  ///   - document: the document before; it is not changed.
  ///   - limits: ``ArchiveLimits/depth`` limits the nesting of arrays and objects in the document, before and
  ///     afterwards, and in added values. The limit is at most ``JSONReader/maximumDepth``. The other limits are
  ///     ignored.
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` if a location does not exist, a test fails, a value is
  ///   moved into itself or the whole document is removed, and with the code `limitExceeded` if values are nested too
  ///   deep, or if operations add more than 1,048,576 values and more than 16 times as many as the document and the
  ///   patch have, which copies of copies soon do. The path begins with the index of the operation, unless the document
  ///   was too deep before, or becomes so by moves alone.
  /// - Complexity: linear in the sizes of the document, the patch and the copied values, times the length of the paths.
  ///   Adding to an array and removing from it costs about the square root of its length.
  public func applied(to document: ArchiveValue, limits: ArchiveLimits = ArchiveLimits()) throws -> ArchiveValue {
    var tree = try PatchTree(document, operations, depthLimit: min(limits.depth, JSONReader.maximumDepth))
    for (place, operation) in operations.enumerated() {
      do { try operation.apply(to: &tree) } catch { throw ArchiveError.at(.index(place), error) }
    }
    return try tree.result()
  }

  /// Creates a patch that turns `old` into `new`: keys and elements that differ are added, removed and replaced.
  ///
  /// NaN is the same as itself here, but JSON text cannot hold it.
  ///
  /// - Complexity: as ``ValueDifference``, whose rules for arrays without keys apply to all arrays here.
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
      throw ArchiveError(.invalidJSON, "an operation must be an object with the key op")
    }
    func pointer(_ key: String) throws -> ValuePath {
      guard case .string(let text)? = object[key] else {
        throw ArchiveError(.invalidJSON, "the operation needs a JSON pointer", path: [.key(key)])
      }
      do { return try ValuePath(pointer: text) } catch { throw ArchiveError.at(.key(key), error) }
    }
    func operand() throws -> ArchiveValue {
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
        .invalidJSON, "an operation must be add, remove, replace, move, copy or test", path: [.key("op")])
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
        throw ArchiveError(.mergeFailed, "a test failed: the value at the path differs")
      }
    }
  }
}

extension JSONPatch.Operation: CustomStringConvertible {
  /// The operation and its location, without the value: `replace /title`.
  public var description: String {
    func name(_ pointer: ValuePath) -> String { pointer.components.isEmpty ? "the whole" : pointer.pointer }
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
  /// The operations on one line, without values; ``json`` has these.
  public var description: String {
    operations.isEmpty ? "no operations" : operations.map(\.description).joined(separator: ", ").onOneLine
  }
}
