public import StrataCore

/// The mapping of a model to a table. It assigns columns, keys and relations to the fields of the model.
///
///     extension Folder: Entity {
///       static let entityMapping = EntityMapping(
///         table: "folder", columns: ["name": "title"], keys: ["path": ["parent", "name"]],
///         relations: ["parent": .toOne("parentID"), "files": .toMany(foreignKey: "folderID", order: .by("name"))])
///     }
///
/// A mapping is checked when an ``EntityStore`` is created with the entity, not when the mapping itself is created. The store checks
/// the mapping against the model and the table and reports all problems. See the guide in Docs/Entities.md.
public struct EntityMapping: Sendable {
  /// The name of the table.
  public let table: String
  /// The columns of the model's fields, by field key. A field must be listed only if its column has a different name, is converted or
  /// is read-only, or if the field has no column (``EntityColumn/none``).
  public let columns: [String: EntityColumn]
  /// The keys that identify rows, in order of precedence. Each key has a name and a list of fields or to-one relations. The
  /// columns of a key must have a unique index.
  public let keys: [(name: String, fields: [String])]
  /// The relations to other entities, by the key of the field that contains the relation.
  public let relations: [String: EntityRelation]
  /// Whether saves and migrations discard unknown fields, for which a row has no columns. Must be true if the model preserves the
  /// unknown fields of archives.
  public let dropsUnknownFields: Bool
  /// A closure that chooses the class of a row based on the row's column values. The closure is `nil` if all rows are instances of the
  /// entity itself.
  let subclass: (@Sendable (EntityRow) throws -> any Entity.Type)?

  /// Creates a mapping.
  ///
  /// - Parameters:
  ///   - table: the name of the table, which the app creates.
  ///   - columns: see ``columns``. A field that is not listed is stored in the column of the same name.
  ///   - keys: see ``keys``. If fields are mapped to the primary key and no key lists them, the primary key is added as the
  ///     first key.
  ///   - relations: see ``relations``.
  ///   - dropsUnknownFields: see ``dropsUnknownFields``.
  ///   - subclass: for a table with rows of several classes, returns the class of a row. The mapping of that class must name
  ///     the same table.
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

/// The column of a field, and the form in which the column stores the field's value.
///
/// A string literal is the name of a column that stores the value in the default form of the field's type. Docs/Entities.md
/// lists the default forms.
public struct EntityColumn: Sendable, ExpressibleByStringLiteral {
  /// The form in which a column stores a date.
  public enum DateForm: String, Sendable, Hashable, CaseIterable {
    /// Text in UTC in GRDB's format, `2026-11-23 10:00:00.000`, with three to nine decimals.
    case text
    /// Text in the format of RFC 3339, `2026-11-23T10:00:00Z`, with as many decimals as the date needs, at most nine.
    case iso8601
    /// The number of seconds since 1970 as a floating-point number, with a resolution of a quarter of a microsecond.
    case secondsSince1970
    /// The number of milliseconds since 1970 as an integer. More precise dates are rounded.
    case millisecondsSince1970
  }

  enum Form: Sendable {
    case automatic
    case date(DateForm)
    case archive
    case json
    /// A transformer that converts the column's value, of type `input`, to the field's value.
    case transform(FieldTransform, input: Any.Type)
  }

  /// The name of the column, or `nil` if the field has no column.
  let name: String?
  let form: Form
  let isWritten: Bool

  private init(_ name: String?, _ form: Form, isWritten: Bool = true) {
    self.name = name
    self.form = form
    self.isWritten = isWritten
  }

  public init(stringLiteral value: String) { self.init(value, .automatic) }

  /// No column. When a row is read, the field gets its default value, so the field must have a default.
  public static var none: EntityColumn { EntityColumn(nil, .automatic) }

  /// A column of the given name that stores the value in the default form of the field's type.
  public static func column(_ name: String) -> EntityColumn { EntityColumn(name, .automatic) }

  /// A column whose type differs from the field's type. The `transform` closure of the transformer converts the column's value
  /// to the field's value, and `reverse` converts the field's value back.
  public static func column<Stored: Archivable & SendableMetatype, Value: Archivable & SendableMetatype>(
    _ name: String, by transformer: ReversibleTransformer<Stored, Value>
  ) -> EntityColumn {
    EntityColumn(name, .transform(FieldTransform(transformer), input: Stored.self))
  }

  /// A column that is read but never written, because the database supplies its value through a trigger, a default or a generated
  /// column.
  public static func readOnly(_ name: String) -> EntityColumn { EntityColumn(name, .automatic, isWritten: false) }

  /// A column that is read through a transformer but never written.
  public static func readOnly<Stored: Archivable & SendableMetatype, Value: Archivable & SendableMetatype>(
    _ name: String, by transformer: Transformer<Stored, Value>
  ) -> EntityColumn {
    EntityColumn(name, .transform(FieldTransform(transformer), input: Stored.self), isWritten: false)
  }

  /// A column that stores a date in the given form.
  public static func date(_ name: String, _ form: DateForm) -> EntityColumn { EntityColumn(name, .date(form)) }

  /// A column that stores a field of any type as an archive. Archives of older model versions are upgraded on reading.
  public static func archive(_ name: String) -> EntityColumn { EntityColumn(name, .archive) }

  /// A column that stores a field as JSON text, using the JSON mapping of the field's type.
  public static func json(_ name: String) -> EntityColumn { EntityColumn(name, .json) }
}

/// The mapping of a field that refers to other entities.
public struct EntityRelation: Sendable {
  /// The order of the elements of a list.
  public enum Order: Sendable, Hashable {
    /// An integer column that contains the positions of the elements. A save writes the positions. The column is in the table that
    /// contains the foreign key.
    case column(String)
    /// The column by which a list is sorted on reading, in ascending order. Rows with equal values are sorted by primary key.
    case by(String)
    /// The column by which a list is sorted on reading, in descending order. Rows with equal values are sorted by primary key.
    case byDescending(String)
  }

  /// How a save treats existing rows that are no longer in a saved list.
  public enum Removal: String, Sendable, Hashable, CaseIterable {
    /// The foreign keys of the removed rows are set to null. For ``EntityRelation/through(_:from:to:order:removed:)``, the rows
    /// of the join table are deleted.
    case nullify
    /// The rows that were removed from the list are deleted from their table. If a deleted row has lists of its own, their `removed`
    /// rules are applied as well.
    case delete
    /// No row is removed. A save only appends elements to the list.
    case keep
  }

  enum Cardinality: Sendable {
    case toOne(column: String, references: String?)
    case toMany(foreignKey: String, references: String?, order: Order?, removed: Removal)
    case through(table: String, from: String, to: String, order: Order?, removed: Removal)
  }

  let cardinality: Cardinality

  /// A relation to one entity, through a foreign key of this table. The field's type is the entity, or an optional of the
  /// entity.
  ///
  /// - Parameters:
  ///   - column: the foreign key column of this table.
  ///   - references: the referenced column of the other table. The default is the column that the foreign key declares, or else
  ///     the primary key.
  public static func toOne(_ column: String, references: String? = nil) -> EntityRelation {
    EntityRelation(cardinality: .toOne(column: column, references: references))
  }

  /// A relation to all entities whose foreign key references this entity. The type of the field is an array or a set, or an
  /// optional if at most one row references this entity.
  ///
  /// - Parameters:
  ///   - foreignKey: the foreign key column of the other table.
  ///   - references: the referenced column of this table. The default is the column that the foreign key declares, or else the
  ///     primary key.
  ///   - order: the order of the elements, if the field is an array.
  ///   - removed: the rule for rows that are removed from the list.
  public static func toMany(
    foreignKey: String, references: String? = nil, order: Order? = nil, removed: Removal = .nullify
  ) -> EntityRelation {
    EntityRelation(cardinality: .toMany(foreignKey: foreignKey, references: references, order: order, removed: removed))
  }

  /// A many-to-many relation through a join table with two foreign keys. The type of the field is an array or a set.
  ///
  /// - Parameters:
  ///   - table: the join table, with a unique index over both foreign keys. All other columns of the join table must have a
  ///     default or be nullable.
  ///   - from: the column of the join table that references this entity.
  ///   - to: the column of the join table that references the other entities.
  ///   - order: the order of an array. ``Order/column(_:)`` refers to a column of the join table. The other cases refer to a
  ///     column of the other entity's table.
  ///   - removed: the rule for elements that are removed from the list. ``Removal/keep`` keeps their rows in the join table.
  ///     The other cases delete these rows. Only ``Removal/delete`` also deletes the entities.
  public static func through(
    _ table: String, from: String, to: String, order: Order? = nil, removed: Removal = .nullify
  ) -> EntityRelation {
    EntityRelation(cardinality: .through(table: table, from: from, to: to, order: order, removed: removed))
  }
}
