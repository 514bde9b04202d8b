extension VersionedModel {
  /// The identity of an object. For a value it is meaningless.
  var identity: ObjectIdentifier { _objectIdentity ?? ObjectIdentifier(Self.self) }

  /// The object with its own class as its static type, if the current type is a superclass of it.
  ///
  /// Inside a method, `Self` is the static type of the caller. Opening the result makes `Self` the object's own class.
  package var dynamicModel: any VersionedModel {
    guard Self.schema.isObject else { return self }
    func own<M: VersionedModel>(_ type: M.Type) -> (any VersionedModel)? { self as? M }
    let type: any VersionedModel.Type = Swift.type(of: self as any VersionedModel)
    return own(type) ?? self
  }

  /// Whether the object is an instance of a subclass of the current type.
  var isOfSubclass: Bool { Self.schema.isObject && Swift.type(of: self as any VersionedModel) != Self.self }

  /// The values of the fields, with referenced objects by number.
  package func shallowRecord(_ referenced: ReferencedObjects) throws -> ModelRecord {
    try record(includingExcluded: true, role: .referenced(referenced))
  }

  /// Creates the model from values whose references refer to the collected objects.
  static func decode(
    shallow record: ModelRecord, _ referenced: ReferencedObjects, in context: DecodingContext
  ) throws -> Self {
    context.objects = ObjectTable(referenced)
    let slots = schema.allKeys.map { record[$0] }
    return try decode(fields: .slots(slots), unknownFields: schema.unknownFields(of: record), in: context)
  }
}
