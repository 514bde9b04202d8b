public import StrataCore

/// The mapping of a model to a table: columns, keys and relations, by the keys of its fields.
///
///     extension Folder: Entity {
///       static let entityMapping = EntityMapping(
///         table: "folder", columns: ["name": "title"], keys: ["path": ["parent", "name"]],
///         relations: ["parent": .toOne("parentID"), "files": .toMany(foreignKey: "folderID", order: .by("name"))])
///     }
///
/// Creating a mapping checks nothing. ``EntityStore`` checks it against the model and the table when the store is created, and
/// reports every problem. Docs/Entities.md is the guide.
public struct EntityMapping: Sendable {
  /// The name of the table.
  public let table: String
  /// The columns of fields that are not stored in the column of the same name. `.none` leaves a field out.
  public let columns: [String: EntityColumn]
  /// The keys that identify rows, in order of precedence. Each is a list of fields or relations whose columns have a unique index.
  public let keys: [(name: String, fields: [String])]
  /// The fields that refer to other entities.
  public let relations: [String: EntityRelation]
  /// Whether to drop unknown keys, which the model keeps in archives and which rows cannot store.
  public let dropsUnknownFields: Bool
  /// Returns the class of a row by the values of its columns; `nil` if all rows are of the entity itself.
  let subclass: (@Sendable (EntityRow) throws -> any Entity.Type)?

  /// - Parameters:
  ///   - table: the name of the table, which the app creates.
  ///   - columns: see ``columns``. If `nil` or empty, each field is stored in the column of the same name.
  ///   - keys: see ``keys``. A primary key that fields hold is added as the first key, unless one of them lists it.
  ///   - relations: see ``relations``.
  ///   - dropsUnknownFields: see ``dropsUnknownFields``.
  ///   - subclass: for a table with several classes, returns the class of a row: a subclass whose mapping names the same table.
  public init(
    table: String, columns: [String: EntityColumn]? = nil, keys: KeyValuePairs<String, [String]> = [:],
    relations: [String: EntityRelation] = [:], dropsUnknownFields: Bool = false,
    subclass: (@Sendable (EntityRow) throws -> any Entity.Type)? = nil
  ) {
    self.table = table
    self.columns = columns ?? [:]
    self.keys = keys.map { ($0.key, $0.value) }
    self.relations = relations
    self.dropsUnknownFields = dropsUnknownFields
    self.subclass = subclass
  }
}

/// The column of a field, and the form of the value in it.
///
/// A string literal is the column of that name, in the form that suits the field's type; see Docs/Entities.md.
public struct EntityColumn: Sendable, ExpressibleByStringLiteral {
  /// The form of a date in a column.
  public enum DateForm: String, Sendable, Hashable, CaseIterable {
    /// Text in UTC as GRDB writes it, `2026-11-23 10:00:00.000`, with at least three decimals and at most nine.
    case text
    /// Text in the format of RFC 3339, `2026-11-23T10:00:00Z`, with the decimals that the date has, nine at most.
    case iso8601
    /// A number of seconds since 1970, with a resolution of a quarter of a microsecond.
    case secondsSince1970
    /// A whole number of milliseconds since 1970. Finer dates are rounded.
    case millisecondsSince1970
  }

  enum Form: Sendable {
    case automatic
    case date(DateForm)
    case archive
    case json
    /// A transformer from the column's value to the field's value.
    case transform(FieldTransform, input: Any.Type)
  }

  /// `nil` if the field has no column.
  let name: String?
  let form: Form
  let isWritten: Bool

  private init(_ name: String?, _ form: Form, isWritten: Bool = true) {
    self.name = name
    self.form = form
    self.isWritten = isWritten
  }

  public init(stringLiteral value: String) { self.init(value, .automatic) }

  /// No column. The field is read as its default, so it must have one.
  public static var none: EntityColumn { EntityColumn(nil, .automatic) }

  /// The column of this name, in the form that suits the type of the field.
  public static func column(_ name: String) -> EntityColumn { EntityColumn(name, .automatic) }

  /// A column whose type differs from the field's: `transform` converts the column's value to the field's, and `reverse` converts it
  /// back.
  public static func column<Stored: Archivable & SendableMetatype, Value: Archivable & SendableMetatype>(
    _ name: String, by transformer: ReversibleTransformer<Stored, Value>
  ) -> EntityColumn {
    EntityColumn(name, .transform(FieldTransform(transformer), input: Stored.self))
  }

  /// A column that is read and never written, for values supplied by triggers, defaults and generated columns.
  public static func readOnly(_ name: String) -> EntityColumn { EntityColumn(name, .automatic, isWritten: false) }

  /// A column that is read through a transformer and never written.
  public static func readOnly<Stored: Archivable & SendableMetatype, Value: Archivable & SendableMetatype>(
    _ name: String, by transformer: Transformer<Stored, Value>
  ) -> EntityColumn {
    EntityColumn(name, .transform(FieldTransform(transformer), input: Stored.self), isWritten: false)
  }

  /// A column that holds a date in the given form.
  public static func date(_ name: String, _ form: DateForm) -> EntityColumn { EntityColumn(name, .date(form)) }

  /// A column that holds the field as an archive, whatever its type. Archives of older model versions are upgraded when read.
  public static func archive(_ name: String) -> EntityColumn { EntityColumn(name, .archive) }

  /// A column that holds the field as JSON text, in the type's own JSON mapping.
  public static func json(_ name: String) -> EntityColumn { EntityColumn(name, .json) }
}

/// The mapping of a field that refers to other entities.
public struct EntityRelation: Sendable {
  /// The order of a list.
  public enum Order: Sendable, Hashable {
    /// An integer column with positions, in the table that holds the foreign key. A save sets it.
    case column(String)
    /// Another column, by which the list is sorted when it is read. Rows with equal values are sorted by primary key.
    case by(String)
    /// Like ``by(_:)``, in descending order.
    case byDescending(String)
  }

  /// The rule for elements that a saved list no longer contains.
  public enum Removal: String, Sendable, Hashable, CaseIterable {
    /// Their foreign key is set to null. For ``EntityRelation/through(_:from:to:order:removed:)`` the pair is deleted.
    case nullify
    /// Their rows are deleted, which applies the `removed` rules of the lists of these rows.
    case delete
    /// They stay in the list. A save only adds elements, at the end.
    case keep
  }

  enum Cardinality: Sendable {
    case toOne(column: String, references: String?)
    case toMany(foreignKey: String, references: String?, order: Order?, removed: Removal)
    case through(table: String, from: String, to: String, order: Order?, removed: Removal)
  }

  let cardinality: Cardinality

  /// One entity, referenced by a foreign key in this table. The field is the entity or an optional of it.
  ///
  /// - Parameters:
  ///   - column: the foreign key.
  ///   - references: the referenced column of the other table; by default the one that the foreign key declares, else the primary key.
  public static func toOne(_ column: String, references: String? = nil) -> EntityRelation {
    EntityRelation(cardinality: .toOne(column: column, references: references))
  }

  /// The entities whose foreign key refers to this one. The field is an array or a set, or an optional if at most one row
  /// refers to this one.
  ///
  /// - Parameters:
  ///   - foreignKey: a column of the other table.
  ///   - references: the referenced column of this table; by default the one that the foreign key declares, else the primary key.
  ///   - order: the order of an array.
  ///   - removed: the rule for rows that leave the list.
  public static func toMany(
    foreignKey: String, references: String? = nil, order: Order? = nil, removed: Removal = .nullify
  ) -> EntityRelation {
    EntityRelation(cardinality: .toMany(foreignKey: foreignKey, references: references, order: order, removed: removed))
  }

  /// Entities joined through a table of pairs. The field is an array or a set.
  ///
  /// - Parameters:
  ///   - table: the table of pairs, with a unique index on both columns. Its other columns have defaults or may be null.
  ///   - from: the foreign key to this entity.
  ///   - to: the foreign key to the other entities.
  ///   - order: the order of an array. ``Order/column(_:)`` is a column of the table of pairs; the other cases are columns of the entities.
  ///   - removed: the rule for pairs that leave the list. ``Removal/keep`` keeps them; the other cases delete them. Only ``Removal/delete``
  ///     also deletes the entities.
  public static func through(
    _ table: String, from: String, to: String, order: Order? = nil, removed: Removal = .nullify
  ) -> EntityRelation {
    EntityRelation(cardinality: .through(table: table, from: from, to: to, order: order, removed: removed))
  }
}
