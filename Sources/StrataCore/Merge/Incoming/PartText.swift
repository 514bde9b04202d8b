import Foundation

/// Parses JSON text for a merge, in which any key of a type may be absent. As in decoding, a duplicate key that a field reads is an error
/// at any depth, because programs differ in which of the two values they use.
struct PartText {
  let reading: JSONReading
  /// Returns the classes of the existing objects that the text may describe.
  let classes: () throws -> [any VersionedModel.Type]

  /// Parses JSON text and checks that no key that a field reads occurs more than once.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` if the text is not JSON, or if a key that is read occurs more than once. The
  ///   error for a duplicate key contains the path of the key.
  func value(of text: Data, for type: Any.Type) throws -> ArchiveValue {
    var reader = JSONReader()
    reader.limits = reading.limits
    return try reader.withRoot(of: text, depthLimit: JSONReader.maximumDepth) { root in
      let (value, hasDuplicates) = try root.lastValue()
      if hasDuplicates { try check(root, type, classes(), isRoot: true) }
      return value
    }
  }

  private func check(
    _ element: JSONElement, _ type: Any.Type, _ classes: [any VersionedModel.Type], isRoot: Bool = false
  ) throws {
    switch (TypeShape(of: type).kind, element.kind) {
    case (.optional(let wrapped), _):
      if !element.isNull { try check(element, wrapped, classes, isRoot: isRoot) }
    case (.model(let type), .object) where !type.schema.isEnumeration:
      // A nested object may be an instance of a subclass, and the keys that the subclass reads are not known yet. The whole object is
      // therefore checked for duplicate keys.
      let mayBeOther = !isRoot && classes.contains { $0 != type && $0.isSubtype(of: type) }
      if try mayBeOther || type.schema.jsonHierarchy() != nil {
        _ = try element.value()
      } else {
        try checkFields(element, classes, reading.plan(of: type.schema))
      }
    case (.array(let type), .array), (.set(let type), .array):
      try element.forEachElement { try check($0, type, classes) }
    case (.dictionary(_, let type), .object):
      var keys = Set<ExactKey>()
      try element.forEachMember { key, value in
        guard keys.insert(ExactKey(key)).inserted else {
          throw ArchiveError(
            .invalidJSON, "the object has a duplicate key; each key may occur only once", byteOffset: value.byteOffset)
        }
        try check(value, type, classes)
      }
    case (.model, _), (.array, _), (.dictionary, _), (.set, _), (.scalar, _), (.untyped, _), (.rawValue, _),
      (.opaque, _):
      _ = try element.value()
    }
  }

  private func checkFields(
    _ object: JSONElement, _ classes: [any VersionedModel.Type], _ plan: JSONPlan
  ) throws {
    guard reading.unknownKeys == .ignore, let others = plan.otherKeys else {
      _ = try object.value()
      return
    }
    let places = try plan.keys.places(in: object, of: plan)
    for (entry, place) in zip(plan.entries, places) where place >= 0 {
      do { try check(object.element(at: place), entry.field.type, classes) } catch {
        throw ArchiveError.at(.key(entry.field.key), error)
      }
    }
    // If a field has several JSON paths, or a path of more than one key, the whole value under the first key of each path is checked for
    // duplicate keys.
    if !others.isEmpty { _ = try object.members(others) }
  }
}
