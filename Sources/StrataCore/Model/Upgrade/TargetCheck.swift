/// Finds migration operations that write a value to a path that no field reads. The path is probably misspelled, and the value would be
/// lost.
///
/// Paths into nested models are checked against the schemas of those models. Only certain mistakes are reported. Operations
/// before a ``MigrationOperation/custom(_:changes:_:)`` that does not declare its keys are not checked, because the closure may
/// use any key. Models with a hook or unknown fields accept every key.
enum TargetCheck {
  /// Returns the error for the last operation that writes to a path that no field reads; `nil` if there is none.
  ///
  /// The check reads the schemas of other models. Do not call this function while a schema is being created, because
  /// models that contain each other would deadlock.
  static func problem(of schema: ModelSchema) -> ArchiveError? {
    guard let migration = schema.migration, schema.hook == nil else { return nil }
    let operations = migration.steps.flatMap { step in step.operations.map { (step, $0) } }
    let keys = schema.currentKeys
    var laterSources: [ValuePath] = []
    for (step, operation) in operations.reversed() {
      guard let effect = operation.effect else { return nil }
      for target in effect.targets {
        guard let reason = problem(of: target, of: operation, schema, keys, laterSources) else { continue }
        return ArchiveError(
          .invalidMigration, "the step from version \(step.fromVersion) to \(step.toVersion) \(reason)",
          typeName: schema.name)
      }
      laterSources += effect.sources
    }
    return nil
  }

  private static func problem(
    of target: ValuePath, of operation: MigrationOperation, _ schema: ModelSchema, _ keys: Set<String>,
    _ laterSources: [ValuePath]
  ) -> String? {
    guard let key = target.firstKey else { return nil }
    guard let type = schema.type(ofKey: key) else {
      if schema.keepsUnknownFields || keys.contains(key) || laterSources.contains(where: { $0.firstKey == key }) {
        return nil
      }
      return
        "writes the key \(key), but no field has this key and no later step changes it; the keys of the fields are "
        + "\(keys.sorted().joined(separator: ", "))"
        + (key.contains(".") ? "; to change a key of a nested record, use .move instead of .rename" : "")
    }
    let path = target.components
    // The path is temporary if a later operation moves the value or removes it, possibly together with its record.
    let isTemporary = laterSources.contains { source in
      let other = source.components
      return path.starts(with: other) || other.starts(with: path)
    }
    if isTemporary { return nil }
    return problem(of: path[1...], in: type, target, path.count == 2 ? operation.createdRecord : nil)
  }

  /// Checks the remaining components of a path that begins in a value of the given type.
  ///
  /// - Parameter created: the record that the operation creates if the value is null; `nil` if it creates none.
  private static func problem(
    of rest: ArraySlice<ValuePath.Component>, in type: Any.Type, _ target: ValuePath,
    _ created: MigrationOperation.NestedRecord?
  ) -> String? {
    guard let first = rest.first else { return nil }
    switch (TypeShape(of: type).unwrapped.kind, first) {
    case (.array(let element), .index): return problem(of: rest.dropFirst(), in: element, target, nil)
    case (.dictionary(_, let values), .key): return problem(of: rest.dropFirst(), in: values, target, nil)
    case (.model(let model), .key(let key)):
      let nested = model.schema
      if let created, let reason = problem(of: created, nested, target) { return reason }
      if let next = nested.type(ofKey: key) { return problem(of: rest.dropFirst(), in: next, target, nil) }
      // The keys are checked only if the record cannot be of a subclass, which may have additional keys.
      let isExact = created.map { nested.isNamed($0.typeName) } ?? !nested.isObject
      guard isExact, !nested.isEnumeration else { return nil }
      guard let keys = nested.keys(readFrom: created?.modelVersion ?? 0), !keys.contains(key) else { return nil }
      return "writes the path \(target), but \(nested.name) has no field with the key \(key) and no step of "
        + "\(nested.name) changes it; the keys of the fields are \(nested.currentKeys.sorted().joined(separator: ", "))"
    case (.scalar, _), (.untyped, _), (.optional, _), (.array, _), (.set, _), (.dictionary, _), (.model, _),
      (.rawValue, _), (.opaque, _):
      return nil
    }
  }

  /// Returns the reason why a created record cannot be read as the nested model; `nil` if it can be read.
  private static func problem(
    of created: MigrationOperation.NestedRecord, _ nested: ModelSchema, _ target: ValuePath
  ) -> String? {
    guard nested.isNamed(created.typeName) else {
      // A field of a class type can also contain a record of a subclass, which can have any name.
      return nested.isObject
        ? nil
        : "creates a record of the type \(created.typeName) for \(target), but the field has the type \(nested.name); "
          + "pass creating: .init(\"\(nested.name)\", version: \(nested.modelVersion))"
    }
    guard created.modelVersion > nested.modelVersion else { return nil }
    return
      "creates a record of \(nested.name) version \(created.modelVersion) for \(target), but the model's version is "
      + "\(nested.modelVersion); pass creating: .init(\"\(nested.name)\", version: \(nested.modelVersion))"
  }
}

extension MigrationOperation {
  /// The record that the operation creates if the target of a move does not exist; `nil` if it creates none.
  fileprivate var createdRecord: NestedRecord? {
    switch self {
    case .move(_, _, let creating, _): creating
    case .optional(let operation): operation.createdRecord
    case .rename, .drop, .setDefault, .replaceNull, .convert, .custom: nil
    }
  }
}

extension ModelSchema {
  /// The current and former keys of the fields, or names of the cases.
  fileprivate var currentKeys: Set<String> {
    Set(fields.flatMap { [$0.key] + $0.formerly } + cases.flatMap { [$0.name] + $0.formerly })
  }

  /// The type of the field with this current or former key; `nil` if no field has the key.
  fileprivate func type(ofKey key: String) -> Any.Type? {
    fields.first { $0.key == key || $0.formerly.contains(key) }?.type
  }

  /// Returns the keys that the fields and the migration steps read from a record of the given version or a later one; `nil` if any key may
  /// be read.
  fileprivate func keys(readFrom version: Int) -> Set<String>? {
    guard hook == nil, !keepsUnknownFields else { return nil }
    // Superclasses have versions of their own, independent of `version`, so any of their steps may run.
    let steps =
      superclasses.flatMap { $0.migration?.steps ?? [] } + (migration?.steps ?? []).filter { $0.fromVersion >= version }
    var keys = currentKeys
    for operation in steps.flatMap(\.operations) {
      guard let effect = operation.effect else { return nil }
      keys.formUnion(effect.sources.compactMap(\.firstKey))
    }
    return keys
  }
}
