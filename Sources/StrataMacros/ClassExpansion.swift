import SwiftSyntax

// The expansion of a class. All members are generated in the body of the class, because Swift does not allow subclasses to override members
// of extensions. The fields of a subclass are read and written before the inherited fields, because a Swift initializer sets the properties
// of its own class before it calls `super.init`.
extension ModelDeclaration {
  struct ClassForm {
    let hasImplicitInitializer: Bool
    let isFinal: Bool
    let isOpen: Bool
    /// The superclass that the attribute names, such as `Animal.self`; `nil` if the superclass is not a model.
    let superclass: ExprSyntax?
    /// Whether the attribute declares that the superclass is not a model. The properties of the superclass are then not
    /// archived.
    let excludesSuperclass: Bool
    /// Whether the class declares `init(fields:)` itself, so that the macro does not generate it.
    let readsItself: Bool
    let place: SourcePlace?
    /// The first type in the inheritance clause of the class, if it must be a protocol because the attribute names no superclass; otherwise
    /// `nil`.
    let protocolOnly: (type: TypeSyntax, place: SourcePlace?)?

    /// Whether the generated members override members of a superclass, or subclasses can override the generated
    /// members.
    var isInHierarchy: Bool { !isFinal || superclass != nil }
  }

  func hierarchyMembers(_ properties: [StoredProperty], _ form: ClassForm) -> [String] {
    let fields = properties.filter { $0.role == .field }
    var members = rootCheck(form) + [schemaStorage(properties), schemaOverride(form)]
    if form.hasImplicitInitializer, form.superclass == nil {
      members.append(form.excludesSuperclass ? "\(access)override init() { super.init() }" : "\(access)init() {}")
    }
    if !form.readsItself { members.append(reading(properties, form)) }
    members += [encoding(fields, form), settingOne(fields, form)]
    if form.superclass == nil {
      members.append(
        function(
          "\(access)func adoptFields(of other: \(typeName))", of: Self.adopted(properties), ["self.adoptObject(other)"])
      )
    }
    members += unknownFields(properties, form)
    members.append(adoption(properties, form))
    return members
  }

  /// Returns the declaration of the property that stores unknown keys. A subclass inherits this property, unless it has
  /// its own property for unknown keys.
  private func unknownFields(_ properties: [StoredProperty], _ form: ClassForm) -> [String] {
    let own = properties.first { $0.role == .unknownFields }?.access
    guard own != nil || form.superclass == nil else { return [] }
    return [function("\(head(form))var archivedUnknownFields: _StrataUnknownFields", [own ?? "_StrataUnknownFields()"])]
  }

  /// Returns a declaration that compiles only if the first inherited type is a protocol. It must be the first member,
  /// so that the compiler reports its error before the errors that follow from it.
  func rootCheck(_ form: ClassForm) -> [String] {
    guard let (type, place) = form.protocolOnly else { return [] }
    let refused =
      "any superclass that is no model; write @Model(version: …, superclass: .excluded) to leave its properties out"
    let check =
      "private static func \(memberName("_rootOf"))<_StrataRoot: \(type) & _Strata.`\(refused)`>(_: _StrataRoot.Type) {}"
    return [SourcePlace.ended(SourcePlace.lines([(place, [check])])).joined(separator: "\n")]
  }

  private func head(_ form: ClassForm) -> String {
    "\(form.isOpen ? "open " : access)\(form.superclass == nil ? "" : "override ")"
  }

  var storageName: String { memberName("_schemaOf") }

  private func memberName(_ prefix: String) -> String {
    let name = "\(prefix)\(typeName.withoutBackticks)"
    return typeName == typeName.withoutBackticks ? name : "`\(name)`"
  }

  private func schemaStorage(_ properties: [StoredProperty]) -> String {
    schemaProperty("private static", storageName, fieldLines(properties, inClass: true))
  }

  private func schemaOverride(_ form: ClassForm) -> String {
    "\(head(form))class var schema: _StrataSchema { \(storageName) }"
  }

  private func reading(_ properties: [StoredProperty], _ form: ClassForm) -> String {
    let count = properties.filter { $0.role == .field }.count
    let above = around(count, form, "try super.init(fields: &reader)", "reader")
    return function(
      "\(access)required init(fields reader: inout _StrataReader) throws", of: properties,
      reads(properties) + above + superclassInitializer(form))
  }

  /// Returns the `super.init()` call for a superclass that is not a model. If the call does not compile, the error is reported at the
  /// class.
  func superclassInitializer(_ form: ClassForm) -> [String] {
    form.excludesSuperclass ? SourcePlace.lines([(form.place, ["super.init()"])]) : []
  }

  private func encoding(_ fields: [StoredProperty], _ form: ClassForm) -> String {
    function(
      "\(head(form))func encodeFields(to writer: inout _StrataWriter) throws", of: fields,
      writes(fields)
        + around(fields.count, form, "try super.encodeFields(to: &writer)", "writer"))
  }

  private func settingOne(_ fields: [StoredProperty], _ form: ClassForm) -> String {
    var last = ["throw reader.constantInCycle(place)"]
    if form.superclass != nil {
      last = around(
        fields.count, form, "try super.readField(place - \(fields.count), from: &reader)", "reader")
    }
    return settingOne(fields, head: head(form), schema: storageName, otherwise: last)
  }

  private static func adopted(_ properties: [StoredProperty]) -> [StoredProperty] {
    properties.filter { $0.role != .unarchived && !$0.isConstant }
  }

  private func adoption(_ properties: [StoredProperty], _ form: ClassForm) -> String {
    let variables = Self.adopted(properties)
    var lines = form.superclass == nil ? [] : ["super.adoptObject(other)"]
    if !variables.isEmpty {
      lines.append("guard let other = other as? \(typeName) else { return }")
      lines += variables.map { "\($0.access) = other.\($0.name.text)" }
    }
    return function("\(head(form))func adoptObject(_ other: AnyObject)", of: variables, lines)
  }

  /// Returns the lines of source code that call the superclass's implementation, which handles the inherited fields. The indices of the
  /// inherited fields start at `count`, the number of the class's own fields.
  private func around(_ count: Int, _ form: ClassForm, _ call: String, _ cursor: String) -> [String] {
    guard form.superclass != nil else { return [] }
    return ["\(cursor).beginSuperclass(after: \(count))", call, "\(cursor).endSuperclass(after: \(count))"]
  }

  /// Returns a method that sets the field at one index. The method is used for objects in reference cycles, because some of their fields
  /// can only be set after all objects are decoded.
  ///
  /// - Parameter schema: the name of the static property with the schema of this class.
  func settingOne(
    _ fields: [StoredProperty], head: String, schema: String = "schema", otherwise: [String]
  ) -> String {
    var lines = ["switch place {"]
    for (place, field) in fields.enumerated() where !field.isConstant {
      lines.append("case \(place):")
      let reading = field.read(place, schema: "\(typeName).\(schema)", inInitializer: false)
      lines += SourcePlace.lines([(field.place, reading)]).map { "  " + $0 }
    }
    lines.append("default:")
    lines += otherwise.map { "  " + $0 }
    lines.append("}")
    return function(
      "\(head)func readField(_ place: Int, from reader: inout _StrataReader) throws", of: fields, lines)
  }
}
