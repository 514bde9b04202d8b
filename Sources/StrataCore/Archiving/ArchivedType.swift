/// The type of an archive's root and its current name, found by the type name in the stamp.
package struct ArchivedType {
  package let type: any Archivable.Type
  package let name: String

  /// - Parameters:
  ///   - root: the type of the archives; a model also covers containers of it.
  ///   - subclasses: classes that can replace the root.
  ///   - name: the type name in the stamp.
  package init(_ root: any Archivable.Type, _ subclasses: [any VersionedModel.Type], stampedAs name: String) {
    guard let model = TypeShape.model(root) else {
      self.init(root)
      return
    }
    self = Self.find(name[...], model, SchemaCatalog(of: model, and: subclasses), 0)
  }

  private init(_ type: any Archivable.Type, name: String? = nil) {
    self.type = type
    self.name = name ?? type._archiveTypeName
  }

  /// The maximum nesting of names. A more deeply nested name counts as the root's, because a stamp can claim any depth.
  private static let deepest = 16

  private static func find(
    _ name: Substring, _ root: any VersionedModel.Type, _ catalog: SchemaCatalog, _ depth: Int
  ) -> ArchivedType {
    // The model is checked first, because its name may look like the name of a container.
    if root.schema.isNamed(String(name)) || depth == deepest { return ArchivedType(root) }
    if let type = catalog.objectTypes[String(name)], type.isSubtype(of: root) { return ArchivedType(type) }
    guard let content = Self.element(of: name) else { return ArchivedType(root) }
    let element = find(content, root, catalog, depth + 1)
    if name.hasSuffix("?") { return element.optional }
    if name.hasPrefix("Set<") { return element.set ?? ArchivedType(root) }
    let keysAndValues = name.dropFirst().dropLast()
    return endOfKey(keysAndValues).map { element.dictionary(keys: keysAndValues[..<$0]) } ?? element.array
  }

  /// Returns the index of the type as which archives with a type name are decoded. A model covers its containers, also
  /// nested ones.
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

  /// Extracts the name of the element type from the name of a collection or an optional; `nil` for any other name.
  package static func element(of name: Substring) -> Substring? {
    if name.hasSuffix("?") { return name.dropLast() }
    if name.hasPrefix("Set<"), name.hasSuffix(">") { return name.dropFirst(4).dropLast() }
    guard name.hasPrefix("["), name.hasSuffix("]") else { return nil }
    let content = name.dropFirst().dropLast()
    return endOfKey(content).map { content[$0...].dropFirst(2) } ?? content
  }

  /// Returns the end of the key type in the name of a dictionary: the first colon outside brackets.
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

  /// A dictionary type whose keys are not upgraded, whatever their type.
  private func dictionary(keys: Substring) -> ArchivedType {
    ArchivedType(type.dictionaryType, name: "[\(keys): \(name)]")
  }
}

extension Archivable {
  /// Whether values of this type have that name in archives.
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
