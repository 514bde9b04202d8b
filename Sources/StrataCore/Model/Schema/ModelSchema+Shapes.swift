extension ModelSchema {
  /// The error for the first field or associated value whose type contains models but has its own coding; `nil` if there is none. A merge
  /// could not find the models in such a value.
  var problemOfShapes: ArchiveError? {
    for field in fields {
      if let type = Self.opaqueContainer(in: field.shape, field.type) { return problem(of: type, at: field.key) }
    }
    for info in cases {
      for (place, type) in info.payload.enumerated() {
        guard let opaque = Self.opaqueContainer(in: TypeShape(of: type), type) else { continue }
        return problem(of: opaque, at: info.labels.indices.contains(place) ? info.labels[place] : info.name)
      }
    }
    return nil
  }

  private func problem(of type: any Archivable.Type, at key: String) -> ArchiveError {
    ArchiveError(
      .invalidSchema,
      "the type \(type._archiveTypeName) stores models in a custom form, which a merge can replace only as a whole; "
        + "declare typeShape as .array(of:) for an array or as .set(of:) for a set", path: [.key(key)],
      typeName: name)
  }

  /// Returns the first type that contains models but has its own coding. The type itself and the types of its elements are searched.
  /// Returns `nil` if there is no such type.
  private static func opaqueContainer(in shape: TypeShape, _ type: Any.Type) -> (any Archivable.Type)? {
    switch shape.kind {
    case .opaque:
      guard let type = TypeShape.archivable(type), type._rootSchema != nil else { return nil }
      return type
    case .optional(let inner), .array(let inner), .set(let inner), .dictionary(_, let inner):
      return opaqueContainer(in: TypeShape(of: inner), inner)
    case .scalar, .untyped, .model, .rawValue: return nil
    }
  }
}
