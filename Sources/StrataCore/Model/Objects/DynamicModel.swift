extension VersionedModel {
  /// The identity of a class instance. For a struct or an enum, the value is meaningless.
  var identity: ObjectIdentifier { _objectIdentity ?? ObjectIdentifier(Self.self) }

  /// This model as `any VersionedModel`, with the object's own class as the dynamic type, even if `Self` is a superclass.
  ///
  /// In a method called on a variable of a superclass type, `Self` is the superclass. If the method is called on this property instead,
  /// Swift opens the existential, and `Self` is the object's own class.
  package var dynamicModel: any VersionedModel {
    guard Self.schema.isObject else { return self }
    func own<M: VersionedModel>(_ type: M.Type) -> (any VersionedModel)? { self as? M }
    let type: any VersionedModel.Type = Swift.type(of: self as any VersionedModel)
    return own(type) ?? self
  }

  /// Whether the object is an instance of a subclass of `Self`.
  var isOfSubclass: Bool { Self.schema.isObject && Swift.type(of: self as any VersionedModel) != Self.self }

  /// Returns a record of the object's fields. Each object that a field refers to is added to `referenced`, and the record contains the
  /// object's number in that list.
  package func shallowRecord(_ referenced: ReferencedObjects) throws -> ModelRecord {
    try record(includingExcluded: true, role: .referenced(referenced))
  }

  /// Creates the model from a record in which each reference contains the number of an object in `referenced`.
  static func decode(
    shallow record: ModelRecord, _ referenced: ReferencedObjects, in context: DecodingContext
  ) throws -> Self {
    context.objects = ObjectTable(referenced)
    let slots = schema.allKeys.map { record[$0] }
    return try decode(fields: .slots(slots), unknownFields: schema.unknownFields(of: record), in: context)
  }
}
