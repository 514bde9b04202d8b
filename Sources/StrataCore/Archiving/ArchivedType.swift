/// The root type of an archive, looked up by the type name in the archive's stamp.
package struct ArchivedType {
  package let type: any Archivable.Type
  package let name: String

  /// Finds the root type of an archive from the type name in its stamp.
  ///
  /// - Parameters:
  ///   - root: the root type of the archives. If it is a model, the archives can also contain optionals and collections
  ///     of the model.
  ///   - subclasses: subclasses of the root type whose objects are also accepted as the root.
  ///   - name: the type name in the stamp.
  package init(_ root: any Archivable.Type, _ subclasses: [any VersionedModel.Type], stampedAs name: String) {
    // Fast path: an archive of the model itself is recognized without the schemas that the model refers to.
    guard let model = TypeShape.model(root), !model.schema.isNamed(name) else {
      self.init(root)
      return
    }
    self = Self.find(name[...], model, SchemaCatalog(of: model, and: subclasses), 0)
  }

  private init(_ type: any Archivable.Type, name: String? = nil) {
    self.type = type
    self.name = name ?? type._archiveTypeName
  }

  /// The maximum depth of nested type names. A more deeply nested name is treated as the name of the root type, so that a malicious stamp
  /// cannot cause deep recursion.
  private static let deepest = 16

  private static func find(
    _ name: Substring, _ root: any VersionedModel.Type, _ catalog: SchemaCatalog, _ depth: Int
  ) -> ArchivedType {
    // The model's own name is checked first, because it may look like the name of a collection.
    if root.schema.isNamed(String(name)) || depth == deepest { return ArchivedType(root) }
    if let type = catalog.objectTypes[String(name)], type.isSubtype(of: root) { return ArchivedType(type) }
    guard let content = Self.element(of: name) else { return ArchivedType(root) }
    let element = find(content, root, catalog, depth + 1)
    if name.hasSuffix("?") { return element.optional }
    if name.hasPrefix("Set<") { return element.set ?? ArchivedType(root) }
    let keysAndValues = name.dropFirst().dropLast()
    return endOfKey(keysAndValues).map { element.dictionary(keys: keysAndValues[..<$0]) } ?? element.array
  }

  /// Returns the index of the type in `roots` that decodes archives with this type name; `nil` if there is none. A model also decodes
  /// archives of optionals and collections of the model, at any nesting depth.
  package static func index(of name: String, in roots: [any Archivable.Type]) -> Int? {
    if let index = roots.firstIndex(where: { $0.isStored(as: name) }) { return index }
    var rest = name[...]
    while let inside = element(of: rest) {
      if let index = roots.firstIndex(where: { $0 is any VersionedModel.Type && $0.isStored(as: String(inside)) }) {
        return index
      }
      rest = inside
    }
    return nil
  }

  /// Given the name of a collection or an optional, returns the name of its element type; `nil` for any other name.
  package static func element(of name: Substring) -> Substring? {
    if name.hasSuffix("?") { return name.dropLast() }
    if name.hasPrefix("Set<"), name.hasSuffix(">") { return name.dropFirst(4).dropLast() }
    guard name.hasPrefix("["), name.hasSuffix("]") else { return nil }
    let content = name.dropFirst().dropLast()
    return endOfKey(content).map { content[$0...].dropFirst(2) } ?? content
  }

  /// Given the name of a collection without its outer brackets, returns the end of the key type's name, which is the first colon outside
  /// any inner brackets; `nil` if there is no such colon, as for an array.
  private static func endOfKey(_ name: Substring) -> Substring.Index? {
    var open = 0
    return name.indices.first { index in
      switch name[index] {
      case "[", "<": open += 1
      case "]", ">": open -= 1
      case ":": return open == 0
      default: break
      }
      return false
    }
  }

  private var optional: ArchivedType { ArchivedType(type.optionalType, name: name + "?") }

  private var array: ArchivedType { ArchivedType(type.arrayType, name: "[\(name)]") }

  private var set: ArchivedType? { type.setType.map { ArchivedType($0, name: "Set<\(name)>") } }

  /// Returns the type of a dictionary with values of this type. The keys are decoded as untyped values, so they are not upgraded.
  private func dictionary(keys: Substring) -> ArchivedType {
    ArchivedType(type.dictionaryType, name: "[\(keys): \(name)]")
  }
}

extension Archivable {
  /// Whether archives of this type have this type name in their stamps.
  package static func isStored(as name: String?) -> Bool {
    guard let name else { return false }
    if name == _archiveTypeName { return true }
    return (Self.self as? any VersionedModel.Type)?.schema.isNamed(name) ?? false
  }

  fileprivate static var optionalType: any Archivable.Type { Self?.self }
  fileprivate static var arrayType: any Archivable.Type { [Self].self }
  fileprivate static var dictionaryType: any Archivable.Type { [ArchiveValue: Self].self }
  fileprivate static var setType: (any Archivable.Type)? {
    (Self.self as? any (Archivable & Hashable).Type)?.setOfHashableType
  }
}

extension Archivable where Self: Hashable {
  fileprivate static var setOfHashableType: any Archivable.Type { Set<Self>.self }
}
