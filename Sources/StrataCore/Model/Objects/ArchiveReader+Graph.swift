extension ArchiveReader {
  /// Reads the root value of an archive, which ``ArchiveWriter/writeRoot(_:)`` wrote with or without a graph of
  /// objects.
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

  /// Reads the elements of one member of an archive stream. Each element may be a graph.
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

  /// Reads the elements of one member of an archive stream as untyped values.
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

  /// Reads the head of the array that each member of a stream contains, and returns its element count. The count takes
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

  /// Reads the number of an object in a reference whose tag has already been read. Returns a reference with the
  /// object's number in its own graph.
  ///
  /// - Parameter isLater: whether the reference must be to the object being read or to a later object. If false, the
  ///   reference must be to an earlier object.
  package mutating func readObjectNumber(isLater: Bool, at start: Int) throws -> ArchiveValue {
    guard case .int(let number)? = try readPlainNumber() else {
      throw ArchiveError.damaged("an object reference is not a number", at: start)
    }
    // The number is counted across all graphs of the body. It must belong to the current graph, and the number of the
    // graph's first object is subtracted.
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

  // MARK: Fields that wait

  /// If the error means that the field refers to an object that does not exist yet, defers the field and returns a
  /// placeholder. Returns `nil` if the error has a different cause.
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

  /// Returns the error for a constant property that refers to an object created later. A constant cannot be set once
  /// that object exists.
  public func constantInCycle(_ place: Int) -> ArchiveError {
    ArchiveError(.rejected, "a reference cycle passes through a constant; declare the property with var")
  }

  /// Starts reading the fields of the superclass, which follow the class's own fields.
  public mutating func beginSuperclass(after count: Int) { placeOffset += UInt16(clamping: count) }

  /// Ends reading the fields of the superclass.
  public mutating func endSuperclass(after count: Int) { placeOffset -= UInt16(clamping: count) }

  /// Reads the fields of the current object again as untyped values, up to and including the deferred field. Returns
  /// the value of the deferred field.
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

/// The state of reading the graphs in a body.
package struct GraphReading {
  /// The number of objects in all graphs that precede the current position in the body. The next graph numbers its
  /// objects from here.
  var sharedCount = 0
  /// The number in the body of the object being read, or of the next object; `nil` outside graphs.
  var passed: Int?
  /// The numbers in the body of the objects in the untyped graph being read; `nil` outside untyped graphs.
  var untyped: Range<Int>?
  /// The numbers to which references may refer although the objects are outside the body, such as the objects to which a
  /// decomposed object refers; `nil` if there are none.
  var elsewhere: Range<Int>?
  /// The schema of the object being read, and the position at which its fields begin, in case a field must be read
  /// again.
  var record: (schema: ModelSchema, place: ReadingPlace)?
}

/// A type with an empty value, which serves as a placeholder until the objects that a field refers to exist.
private protocol EmptyMaking { static var emptyValue: Self { get } }
extension Optional: EmptyMaking { fileprivate static var emptyValue: Wrapped? { nil } }
extension Array: EmptyMaking { fileprivate static var emptyValue: [Element] { [] } }
extension Set: EmptyMaking { fileprivate static var emptyValue: Set<Element> { [] } }
extension Dictionary: EmptyMaking { fileprivate static var emptyValue: [Key: Value] { [:] } }
