internal import Foundation
internal import StrataCore

/// Finds out which rows have older model versions than the current program, and upgrades these rows.
struct UpgradeTypes: Sendable {
  private let roots: [any (Archivable & SendableMetatype).Type]
  private let options: StoreOptions

  init(_ roots: [any (Archivable & SendableMetatype).Type], _ options: StoreOptions) {
    (self.roots, self.options) = (roots, options)
  }

  /// Returns the type that decodes archives with the given type name, or `nil` if no such type was passed to the upgrade.
  private func root(_ name: String) -> (any (Archivable & SendableMetatype).Type)? {
    ArchivedType.index(of: name, in: roots).map { roots[$0] }
  }

  /// Returns how an upgrade affects the rows that refer to a definition with the given content.
  func state(of content: Definition.Content) -> StoreUpgradePlan.State {
    guard let root = root(content.typeName) else { return .unknown }
    let today = ArchivedType(root, options.subclasses, stampedAs: content.typeName)
    var isOld = today.name != content.typeName
    if let version = content.modelVersion, let now = today.type._rootSchema?.modelVersion {
      if version > now { return .newer }
      if version < now { isOld = true }
    }
    let catalog = SchemaCatalog(of: root, and: options.subclasses)
    for shape in content.shapes {
      let levels = shape.levels.map { ($0.typeName, Optional($0.modelVersion)) }
      for (name, version) in [(shape.typeName, shape.modelVersion)] + levels {
        guard let version, let schema = catalog[name] else { continue }
        if version > schema.modelVersion { return .newer }
        if version < schema.modelVersion || name != schema.name { isOld = true }
      }
    }
    return isOld ? .old : .current
  }

  /// Decodes a row's content and encodes its value in the current versions of the models.
  ///
  /// - Parameter shapes: a closure that returns the existing record shapes to reuse for a stamp (type and version).
  func upgraded(_ content: StoredContent, shapes: (Stamp) -> [RecordShape]) throws -> EncodedRow {
    guard let root = root(content.definition.content.typeName) else {
      throw StoreError(
        .invalid,
        "the saved value has the type \(content.definition.content.typeName), which was not passed to the "
          + "upgrade; pass this type as well", key: content.key, revision: content.revision)
    }
    let today = ArchivedType(root, options.subclasses, stampedAs: content.definition.content.typeName)
    return try upgraded(content, as: today.type, shapes)
  }

  private func upgraded<T: Archivable>(
    _ content: StoredContent, as type: T.Type, _ shapes: (Stamp) -> [RecordShape]
  ) throws -> EncodedRow {
    let value = try content.decode(T.self, options)
    do {
      let known = shapes(options.encoder.stamp(of: value))
      let row = try options.encoder.encodeRow(value, shapes: known)
      guard row.parts.shapes.count > known.count, row.mixesVersions else { return row }
      return try options.encoder.encodeRow(value, shapes: [])
    } catch { throw StoreError.ofSaving(error, key: content.key) }
  }
}

extension StoreStatus.TypeCount {
  /// The type name without optionals and collections around it. For example, `Note` for both `Note?` and `[Note]`.
  package var elementName: String {
    var rest = typeName[...]
    while let inside = ArchivedType.element(of: rest) { rest = inside }
    return String(rest)
  }
}
