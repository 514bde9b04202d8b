extension VersionedModel {
  /// The identity of an object. For a struct or an enum, the result has no meaning.
  var identity: ObjectIdentifier { _objectIdentity ?? ObjectIdentifier(Self.self) }

  /// The object, with the object's own class as the static type, even if `Self` is a superclass.
  ///
  /// Inside a method, `Self` is the static type of the caller. If the caller opens the result, `Self` becomes the
  /// object's own class.
  package var dynamicModel: any VersionedModel {
    guard Self.schema.isObject else { return self }
    func own<M: VersionedModel>(_ type: M.Type) -> (any VersionedModel)? { self as? M }
    let type: any VersionedModel.Type = Swift.type(of: self as any VersionedModel)
    return own(type) ?? self
  }

  /// Whether the object is an instance of a subclass of `Self`.
  var isOfSubclass: Bool { Self.schema.isObject && Swift.type(of: self as any VersionedModel) != Self.self }

  /// Returns the values of the object's own fields. Objects to which it refers are added to `referenced`, and the
  /// fields contain their numbers.
  package func shallowRecord(_ referenced: ReferencedObjects) throws -> ModelRecord {
    try record(includingExcluded: true, role: .referenced(referenced))
  }

  /// Creates the model from field values in which references are the numbers of the objects in `referenced`.
  static func decode(
    shallow record: ModelRecord, _ referenced: ReferencedObjects, in context: DecodingContext
  ) throws -> Self {
    context.objects = ObjectTable(referenced)
    let slots = schema.allKeys.map { record[$0] }
    return try decode(fields: .slots(slots), unknownFields: schema.unknownFields(of: record), in: context)
  }
}
