extension ArchiveReader {
  /// Reads the root value of an archive written by ``ArchiveWriter/writeRoot(_:)``. If the value was written as a graph, first reads the
  /// graph's objects, which the root refers to by number.
  package mutating func readRoot<T: Archivable>(_ type: T.Type) throws -> T {
    guard let count = try beginGraph() else { return try T.read(from: &self) }
    let table = ObjectTable(types: try context.objectTypes(of: T.self), first: context.graph.sharedCount, count: count)
    let outer = context.objects
    context.objects = table
    defer { context.objects = outer }
    try enter()
    context.graph.passed = context.graph.sharedCount
    defer { context.graph.passed = nil }
    for _ in 0..<count {
      try readObject(into: table)
      context.passObject()
    }
    leave()
    context.passObjects(count)
    let root = try T.read(from: &self)
    try table.setWaiting(in: context)
    try table.finish(in: context) { ObjectPath.find($0, from: root) }
    return root
  }

  /// Reads all root values in one member of an archive stream. Each root may be written as a graph of objects.
  package mutating func readRoots<T: Archivable>(_ type: T.Type) throws -> [T] {
    let count = try beginMember()
    var elements: [T] = []
    elements.reserveCapacity(Swift.min(count, 1024))
    do {
      while elements.count < count { elements.append(try readRoot(T.self)) }
    } catch { throw self.error(error, atIndex: elements.count) }
    endArray()
    return elements
  }

  /// Reads all root values in one member of an archive stream as untyped values.
  package mutating func readRootValues() throws -> [ArchiveValue] {
    let count = try beginMember()
    var elements: [ArchiveValue] = []
    elements.reserveCapacity(Swift.min(count, 1024))
    do {
      while elements.count < count { elements.append(try readValue()) }
    } catch { throw self.error(error, atIndex: elements.count) }
    endArray()
    return elements
  }

  /// Reads the head of the array that contains the values of a stream member. Returns the number of elements, which the head must store in
  /// four bytes (Docs/Format.md, section 11).
  private mutating func beginMember() throws -> Int {
    guard try peekByte() == CBOR.countedArrayByte else {
      throw ArchiveError.damaged("the body of a stream member is not an array with a four-byte count", at: position)
    }
    return try beginArray()
  }

  /// Reads the head of a graph and returns the number of objects that follow. If the next value is not a graph, returns
  /// `nil` without advancing.
  private mutating func beginGraph() throws -> Int? {
    guard bytes.byteCount &- position >= 4, isTag(CBOR.Tag.genericObject), byte(position &+ 2) == 0x83 else {
      return nil
    }
    let start = here
    position &+= 3
    guard try readString() == CBOR.Generic.graph else {
      goBack(to: start)
      return nil
    }
    return try readArrayCount()
  }

  private mutating func readObject(into table: ObjectTable) throws {
    let start = position
    guard try readByte() == 0xD8, try readByte() == UInt8(CBOR.Tag.shareable) else {
      throw ArchiveError.damaged("an object in a graph does not have the tag 28", at: start)
    }
    if let place = try beginAnyRecord() {
      let shape = definitions[place].shape
      let type = definitions[place].objectType ?? table.type(of: shape)
      if let type {
        definitions[place].objectType = type
        table.append(try read(type, place))
      } else {
        table.append(.record(try readValues(of: shape)))
      }
    } else {
      table.append(try readObjectValue(at: start))
    }
  }

  /// Reads an object of a graph as an untyped value. Throws if the object is itself a reference or a graph.
  private mutating func readObjectValue(at start: Int) throws -> ArchiveValue {
    let value = try readValue()
    switch value {
    case .reference, .graph:
      throw ArchiveError.damaged("an entry of a graph is a reference instead of an object", at: start)
    default: return value
    }
  }

  private mutating func read<M: VersionedModel>(_ type: M.Type, _ place: Int) throws -> any VersionedModel {
    isObjectFrame = true
    defer { isObjectFrame = false }
    let schema = M.schema
    context.graph.record = (schema, here)
    let start = definitions[place].matching == ObjectIdentifier(schema) ? .fields : match(place, schema)
    return try M.read(start, schema, from: &self)
  }

  /// Reads a reference and returns the referenced object. If the next value is not a reference, returns `nil` without
  /// advancing.
  package mutating func readReference<T: Archivable>(_ type: T.Type) throws -> T? {
    guard let objects = context.objects, isTag(CBOR.Tag.sharedReference) || isTag(CBOR.Tag.genericObject) else {
      return nil
    }
    guard case .reference(let number) = try readValue() else {
      throw ArchiveError.mismatch(
        expected: "an object of \(T.self)", found: "a value that is not an object", at: position)
    }
    return try objects.object(number, as: T.self, in: context)
  }

  /// Reads the object number of a reference whose tag has already been read. Returns a reference with the object's number within the
  /// current graph.
  ///
  /// - Parameter isLater: whether the tag requires a reference to the object being read or to a later object. If false, the reference must
  ///   be to an earlier object.
  package mutating func readObjectNumber(isLater: Bool, at start: Int) throws -> ArchiveValue {
    guard case .int(let number)? = try readPlainNumber() else {
      throw ArchiveError.damaged("an object reference is not a number", at: start)
    }
    // In the archive, objects are numbered across all graphs of the body. The number must refer to an object in the current graph.
    // Subtracting the number of the graph's first object gives the number within the graph.
    guard let objects = context.objects?.numbers ?? context.graph.untyped ?? context.graph.elsewhere else {
      throw ArchiveError.damaged("an object reference occurs outside a graph", at: start)
    }
    guard objects.contains(Int(number)) else {
      throw ArchiveError.damaged("a reference names an object that is not in its graph", at: start)
    }
    if let passed = context.graph.passed, isLater != (number >= passed) {
      throw ArchiveError.damaged(
        isLater
          ? "a \"later\" reference refers to an earlier object; use tag 29 for references to earlier objects"
          : "a reference with tag 29 must refer to an earlier object; use a \"later\" reference for a later object",
        at: start)
    }
    return .reference(Int(number) - objects.lowerBound)
  }

  /// Reads a graph, whose tag and name have already been read, as untyped values.
  package mutating func readGraphContent(at start: Int) throws -> ObjectGraph {
    guard context.objects == nil, context.graph.untyped == nil else {
      throw ArchiveError.damaged("a graph is inside another graph, which is not allowed", at: start)
    }
    let count = try readArrayCount()
    let first = context.graph.sharedCount
    context.graph.untyped = first..<first + count
    context.graph.passed = first
    defer { (context.graph.untyped, context.graph.passed) = (nil, nil) }
    try enter()
    var objects: [ArchiveValue] = []
    objects.reserveCapacity(min(count, 4096))
    for number in 0..<count {
      guard try readByte() == 0xD8, try readByte() == UInt8(CBOR.Tag.shareable) else {
        throw ArchiveError.damaged("an object in a graph does not have the tag 28", at: position)
      }
      do { objects.append(try readObjectValue(at: start)) } catch { throw ArchiveError.at(.index(number), error) }
      context.passObject()
    }
    leave()
    context.passObjects(count)
    return ObjectGraph(objects: objects, root: try readValue())
  }

  // MARK: Deferred fields

  /// Handles an error from reading a field. If the field refers to an object that has not been decoded yet, defers the field and returns a
  /// placeholder value. Returns `nil` for any other error.
  @usableFromInline
  mutating func placeholder<T>(
    _ place: Int, _ error: any Error, _ makeDefault: () throws -> T
  ) throws -> T? {
    guard isObjectFrame, let error = error as? ArchiveError, error.underlyingError is ObjectTable.Pending,
      let objects = context.objects
    else { return nil }
    fail(place)
    let place = place + Int(placeOffset)
    let value: ArchiveValue
    if let values {
      guard let found = values[place] else { return nil }
      value = found
    } else {
      value = try readAgain(place)
    }
    objects.wait(place, value)
    if let type = T.self as? any EmptyMaking.Type, let empty = type.emptyValue as? T { return empty }
    return try makeDefault()
  }

  /// Returns the error for a `let` property that refers to an object not yet decoded. A `let` property cannot be set later, when that
  /// object exists.
  public func constantInCycle(_ place: Int) -> ArchiveError {
    ArchiveError(.rejected, "a reference cycle passes through a constant; declare the property with var")
  }

  /// Prepares for reading the superclass's fields, which follow the class's own fields.
  ///
  /// - Parameter count: the number of the class's own fields.
  public mutating func beginSuperclass(after count: Int) { placeOffset += UInt16(clamping: count) }

  /// Returns to the class's own fields after the superclass's fields have been read. `count` is the number of the class's own fields.
  public mutating func endSuperclass(after count: Int) { placeOffset -= UInt16(clamping: count) }

  /// Reads the current object's fields again, this time as untyped values, up to the field at index `place`. Returns the value of that
  /// field.
  private mutating func readAgain(_ place: Int) throws -> ArchiveValue {
    guard let record = context.graph.record else {
      throw ArchiveError.damaged(
        "a field outside a graph contains an object reference", at: position)
    }
    goBack(to: record.place)
    depth += 1
    let mark = context.budget.mark
    for field in record.schema.fields[..<place] where field.archive != .excluded { _ = try readValue() }
    let value = try readValue()
    try context.budget.countAsSteps(since: mark)
    return value
  }

  @usableFromInline
  static func closesCycle<T>() throws -> T {
    throw ArchiveError(.rejected, "a reference cycle passes through a required field; make the field optional")
  }
}

/// The reader's current position among the object graphs of a body.
package struct GraphReading {
  /// The number of objects in all graphs that have been read. It is also the number of the first object in the next graph, because objects
  /// are numbered across all graphs of a body.
  var sharedCount = 0
  /// The number of objects in the body that have been read completely, including those in earlier graphs; `nil` outside graphs. An object
  /// with this number or a higher number can be referenced only by a forward reference.
  var passed: Int?
  /// The object numbers of the untyped graph being read, counted from the start of the body; `nil` outside untyped graphs.
  var untyped: Range<Int>?
  /// The valid object numbers when references refer to existing objects instead of objects in the body, as in a record that was decomposed
  /// from an object; otherwise `nil`.
  var elsewhere: Range<Int>?
  /// The schema of the object being read, and the position of the object's first field. Used to read a field again.
  var record: (schema: ModelSchema, place: ReadingPlace)?
}

/// A type with an empty value, which a deferred field has until the objects that it refers to have been created.
private protocol EmptyMaking { static var emptyValue: Self { get } }
extension Optional: EmptyMaking { fileprivate static var emptyValue: Wrapped? { nil } }
extension Array: EmptyMaking { fileprivate static var emptyValue: [Element] { [] } }
extension Set: EmptyMaking { fileprivate static var emptyValue: Set<Element> { [] } }
extension Dictionary: EmptyMaking { fileprivate static var emptyValue: [Key: Value] { [:] } }
