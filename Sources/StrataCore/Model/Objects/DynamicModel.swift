extension VersionedModel {
  /// What tells an object from others. That of a value tells nothing.
  var identity: ObjectIdentifier { _objectIdentity ?? ObjectIdentifier(Self.self) }

  /// The object as one of its own class, where the type at hand is a superclass of it.
  ///
  /// Inside a method, `Self` is the type that the caller knew. Opening the result makes it the object's own.
  package var dynamicModel: any VersionedModel {
    guard Self.schema.isObject else { return self }
    func own<M: VersionedModel>(_ type: M.Type) -> (any VersionedModel)? { self as? M }
    let type: any VersionedModel.Type = Swift.type(of: self as any VersionedModel)
    return own(type) ?? self
  }

  /// Whether the object is one of a subclass of the type at hand.
  var isOfSubclass: Bool { Self.schema.isObject && Swift.type(of: self as any VersionedModel) != Self.self }

  /// The values of the fields, with the objects that it refers to by number.
  package func shallowRecord(_ referenced: ReferencedObjects) throws -> ModelRecord {
    try record(includingExcluded: true, role: .referenced(referenced))
  }

  /// Makes the model of values whose references name the objects that were collected.
  static func make(
    ofShallow record: ModelRecord, _ referenced: ReferencedObjects, in context: DecodingContext
  ) throws -> Self {
    context.objects = ObjectTable(referenced)
    let slots = schema.allKeys.map { record[$0] }
    return try make(.slots(slots), unknownFields: schema.unknownFields(of: record), in: context)
  }
}
