/// How a writer encodes the class instances inside a value: as references or with their contents.
package enum ObjectRole {
  /// Each object is written as a reference to its number in the given order. The contents of the objects are written separately, in the
  /// same order.
  case order(ObjectOrder)
  /// Each object is written as a reference and added to the given list. Used to decompose an object into its own fields, without the
  /// contents of the objects it refers to.
  case referenced(ReferencedObjects)
  /// Each nested model, including structs and enums, is written as a reference and added to the given list. Used to
  /// visit all nested models.
  case models(ReferencedObjects)
  /// Each object is written with its contents, including the objects it refers to, down to the given depth. Used to sort sets. The depth is
  /// limited, because objects may refer to each other in cycles.
  case content(levels: Int)
}

extension ArchiveWriter {
  /// Writes an object as a reference or with its contents, depending on the role.
  mutating func write(_ object: some VersionedModel, as role: ObjectRole) throws {
    switch role {
    case .order(let order): order.write(object, to: &self)
    case .referenced(let referenced): writeObjectReference(referenced.number(of: object), isWritten: true)
    case .models(let models): writeObjectReference(models.add(object), isWritten: true)
    case .content(let levels):
      guard levels > 0 else { return writeNull() }
      objects = .content(levels: levels - 1)
      defer { objects = role }
      try object.writeRecord(to: &self)
    }
  }

  /// Writes the root value of an archive. If the value refers to objects, it is written as a graph.
  package mutating func writeRoot<T: Archivable>(_ value: T) throws {
    guard objects == nil, T._rootSchema?.holdsObjects ?? false else { return try value.write(to: &self) }
    let order = try ObjectOrder(of: value, first: sharedCount, limits: limits)
    guard !order.objects.isEmpty else { return try value.write(to: &self) }
    try checkClasses(of: order.objects, in: value)
    objects = .order(order)
    defer { objects = nil }
    writeGeneric(CBOR.Generic.graph, count: 2)
    beginArray(count: order.objects.count)
    try enter()
    try order.writeAll(to: &self)
    leave()
    sharedCount += order.objects.count
    try value.write(to: &self)
  }

  /// Checks that a decoder with the same list of subclasses would know the class of each object in a graph.
  ///
  /// - Throws: ``ArchiveError`` with the code `notEncodable` if a class would be unknown, and `invalidSchema` if two
  ///   classes have the same name.
  private mutating func checkClasses<T: Archivable>(of objects: [any VersionedModel], in root: T) throws {
    let known = try objectTypes(of: T.self)
    for object in objects {
      let type = Swift.type(of: object)
      guard !known.contains(ObjectIdentifier(type)) else { continue }
      let error = ArchiveError(
        .notEncodable,
        "the class \(type.schema.name) is unknown to decoders; add it to the subclasses of the encoder and the decoder, "
          + "or to the subclasses that its superclass declares (ModelHierarchy)", typeName: type.schema.name)
      throw ObjectPath.find(object, from: root).reversed().reduce(error) { ArchiveError.at($1, $0) }
    }
  }

  /// Returns the classes of the objects that a graph with this root type may contain. The result is cached for the next root of the same
  /// type.
  private mutating func objectTypes<T: Archivable>(of type: T.Type) throws -> Set<ObjectIdentifier> {
    if let known = knownObjectTypes, known.root == ObjectIdentifier(T.self) { return known.types }
    let types = try SchemaCatalog.objectTypes(of: T.self, and: subclasses)
    let known = Set(types.values.map { ObjectIdentifier($0) })
    knownObjectTypes = (ObjectIdentifier(T.self), known)
    return known
  }

  /// Writes an untyped graph. Each reference inside the graph must contain the number of one of the graph's objects.
  package mutating func write(_ graph: ObjectGraph) throws {
    guard graphObjects == nil else {
      throw ArchiveError(
        .notEncodable, "a graph is inside another graph, which is not supported; move its objects to the outer graph")
    }
    let first = sharedCount
    writeGeneric(CBOR.Generic.graph, count: 2)
    beginArray(count: graph.objects.count)
    try enter()
    defer { graphObjects = nil }
    for (number, object) in graph.objects.enumerated() {
      if case .reference = object {
        throw ArchiveError(
          .notEncodable, "an entry of a graph is a reference instead of an object", path: [.index(number)])
      }
      graphObjects = (first, graph.objects.count, number)
      beginShared()
      do { try write(object) } catch { throw ArchiveError.at(.index(number), error) }
    }
    leave()
    graphObjects = (first, graph.objects.count, graph.objects.count)
    sharedCount += graph.objects.count
    try write(graph.root)
  }

  /// Writes a reference to an object of the current untyped graph.
  package mutating func writeReference(_ number: Int) throws {
    guard let graph = graphObjects, number >= 0, number < graph.count else {
      throw ArchiveError(
        .notEncodable, "a reference names an object that is not in its graph; encode the whole ObjectGraph")
    }
    writeObjectReference(graph.first + number, isWritten: number < graph.written)
  }

  mutating func writeObjectReference(_ number: Int, isWritten: Bool) {
    if isWritten {
      buffer.appendHead(CBOR.Major.tag, CBOR.Tag.sharedReference)
    } else {
      writeGeneric(CBOR.Generic.later, count: 1)
    }
    write(UInt64(number))
  }

  /// Prepares for writing the superclass's fields, which follow the class's own fields.
  ///
  /// - Parameter count: the number of the class's own fields.
  public mutating func beginSuperclass(after count: Int) { placeOffset += count }

  /// Returns to the class's own fields after the superclass's fields have been written. `count` is the number of the class's own fields.
  public mutating func endSuperclass(after count: Int) { placeOffset -= count }

  mutating func beginShared() { buffer.appendHead(CBOR.Major.tag, CBOR.Tag.shareable) }

  /// Writes a conditional reference, such as a weak property. The reference is archived as nil unless the archive also contains the object
  /// because of an unconditional reference.
  @inlinable
  public mutating func conditionalField<T: Archivable>(_ place: Int, _ value: T) throws {
    if skipsConditionalFields { writeNull() } else { try field(place, value) }
  }

  /// Produces a compile-time error, with a suggested fix, for a weak or conditional reference to a type that cannot be archived.
  @available(
    *, unavailable,
    message:
      "a weak or conditional reference must refer to an object of a model; declare the referenced class with @Model, or exclude the field with @Field(storage: .none)"
  )
  @_disfavoredOverload
  public mutating func conditionalField<T>(_ place: Int, _ value: T) throws { fail(place) }

  @usableFromInline
  var skipsConditionalFields: Bool {
    switch objects {
    case .order(let order)?: order.isFinding
    case .referenced?, .models?: false
    case .content?, nil: true
    }
  }

  /// Writes an object in place, like a struct, instead of writing a reference. Used if the identity of objects does not matter.
  ///
  /// - Throws: ``ArchiveError`` with the code `notEncodable` if the object contains itself, and `limitExceeded` if
  ///   repeated objects make the output too large.
  mutating func writeInPlace(_ object: some VersionedModel) throws {
    let inPlace = try beginInPlace(object)
    defer { inPlace.end(after: passBytesInPlace()) }
    try object.writeRecord(to: &self)
  }

  /// Begins writing an object in place, like a struct, instead of as a reference. The caller must write the object's record next.
  @discardableResult
  mutating func beginInPlace(_ object: some VersionedModel) throws(ArchiveError) -> ObjectsInPlace {
    let inPlace = objectsInPlace ?? ObjectsInPlace()
    objectsInPlace = inPlace
    try inPlace.begin(object, after: passBytesInPlace())
    return inPlace
  }

  /// Returns the number of bytes that have been written since the previous call of this method.
  private mutating func passBytesInPlace() -> Int {
    defer { bytesInPlace = buffer.count }
    return max(0, buffer.count - bytesInPlace)
  }
}
