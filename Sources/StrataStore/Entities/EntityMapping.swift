public import StrataCore

/// How a model is kept in a table: columns, keys and relations by the keys of its fields.
///
///     extension Folder: Entity {
///       static let entityMapping = EntityMapping(
///         table: "folder", columns: ["name": "title"], keys: ["path": ["parent", "name"]],
///         relations: ["parent": .toOne("parentID"), "files": .toMany(foreignKey: "folderID", order: .by("name"))])
///     }
///
/// It is a value that nothing is checked about: ``EntityStore`` compares it with the model and with the table when it is made, and
/// says all that is wrong. Docs/Entities.md is the guide.
public struct EntityMapping: Sendable {
  /// The table.
  public let table: String
  /// The columns of fields that are not in the column of their own name; `.none` leaves a field out.
  public let columns: [String: EntityColumn]
  /// What tells rows apart, the first one first; each is a list of fields or relations, whose columns have a unique index.
  public let keys: [(name: String, fields: [String])]
  /// The fields that lead to other entities.
  public let relations: [String: EntityRelation]
  /// Whether keys that the model does not declare, and keeps in archives, are dropped: rows have no place for them.
  public let dropsUnknownFields: Bool
  /// The class that a row is read as, by the values of its columns; `nil` for the entity itself.
  let subclass: (@Sendable (EntityRow) throws -> any Entity.Type)?

  /// - Parameters:
  ///   - table: the table, which the app makes.
  ///   - columns: as ``columns``. An empty list says the same as none: a column of the same name for each field.
  ///   - keys: as ``keys``. The primary key counts before them where fields hold it.
  ///   - relations: as ``relations``.
  ///   - dropsUnknownFields: as ``dropsUnknownFields``.
  ///   - subclass: for a table with several classes: which one a row is. Each must be a subclass that names the same table.
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

/// The column of a field, and its form there.
///
/// A text stands for the column of that name in the form that suits the type of the field, see Docs/Entities.md.
public struct EntityColumn: Sendable, ExpressibleByStringLiteral {
  /// How a date stands in a column.
  public enum DateForm: String, Sendable, Hashable, CaseIterable {
    /// Text in UTC as GRDB writes it, `2026-11-23 10:00:00.000`, with up to nine decimals where the date has them.
    case text
    /// Text as RFC 3339 spells it, `2026-11-23T10:00:00Z`, with the decimals that the date has, nine at most.
    case iso8601
    /// A number of seconds since 1970, which tells dates apart that are a quarter of a microsecond apart.
    case secondsSince1970
    /// A whole number of milliseconds since 1970. Finer dates are rounded.
    case millisecondsSince1970
  }

  enum Form: Sendable {
    case automatic
    case date(DateForm)
    case archive
    case json
    /// A transformer from what the column holds to the field.
    case transform(FieldTransform, input: Any.Type)
  }

  /// `nil` where the field has no column.
  let name: String?
  let form: Form
  let isWritten: Bool

  private init(_ name: String?, _ form: Form, isWritten: Bool = true) {
    self.name = name
    self.form = form
    self.isWritten = isWritten
  }

  public init(stringLiteral value: String) { self.init(value, .automatic) }

  /// No column. The field comes back as its default, which it must have.
  public static var none: EntityColumn { EntityColumn(nil, .automatic) }

  /// The column of this name, in the form that suits the type of the field.
  public static func column(_ name: String) -> EntityColumn { EntityColumn(name, .automatic) }

  /// A column that holds something else than the field: `transform` makes the field of what the column holds, and `reverse` what the
  /// column holds of the field.
  public static func column<Stored: Archivable & SendableMetatype, Value: Archivable & SendableMetatype>(
    _ name: String, by transformer: ReversibleTransformer<Stored, Value>
  ) -> EntityColumn {
    EntityColumn(name, .transform(FieldTransform(transformer), input: Stored.self))
  }

  /// A column that is read and never written: what triggers, defaults and generated columns make.
  public static func readOnly(_ name: String) -> EntityColumn { EntityColumn(name, .automatic, isWritten: false) }

  /// A column that is read through a transformer and never written.
  public static func readOnly<Stored: Archivable & SendableMetatype, Value: Archivable & SendableMetatype>(
    _ name: String, by transformer: Transformer<Stored, Value>
  ) -> EntityColumn {
    EntityColumn(name, .transform(FieldTransform(transformer), input: Stored.self), isWritten: false)
  }

  /// A date in a form of its own.
  public static func date(_ name: String, _ form: DateForm) -> EntityColumn { EntityColumn(name, .date(form)) }

  /// An archive, whatever the type of the field. Those of older versions of its models are upgraded when they are read.
  public static func archive(_ name: String) -> EntityColumn { EntityColumn(name, .archive) }

  /// JSON text, by what the type itself declares about JSON.
  public static func json(_ name: String) -> EntityColumn { EntityColumn(name, .json) }
}

/// How a field leads to other entities.
public struct EntityRelation: Sendable {
  /// What keeps the order of a list.
  public enum Order: Sendable, Hashable {
    /// A column of whole numbers in the table that holds the foreign key, which saving sets.
    case column(String)
    /// Another column, by which the list is sorted when it is read. Rows with equal values follow by primary key.
    case by(String)
    /// As ``by(_:)``, the greatest value first.
    case byDescending(String)
  }

  /// What becomes of elements that a list no longer has.
  public enum Removal: String, Sendable, Hashable, CaseIterable {
    /// Their foreign key becomes null. For ``EntityRelation/through(_:from:to:order:removed:)`` the pair is deleted.
    case nullify
    /// Their rows are deleted, and what their own lists hold by the rules of these.
    case delete
    /// They stay in the list: a list that is saved only adds. What is new comes at the end.
    case keep
  }

  enum Kind: Sendable {
    case toOne(column: String, references: String?)
    case toMany(foreignKey: String, references: String?, order: Order?, removed: Removal)
    case through(table: String, from: String, to: String, order: Order?, removed: Removal)
  }

  let kind: Kind

  /// One entity, whose key is in a column of this table. The field is the entity or an optional of it.
  ///
  /// - Parameters:
  ///   - column: the foreign key.
  ///   - references: the column of the other table that it holds; what the table declares unless given, else the primary key.
  public static func toOne(_ column: String, references: String? = nil) -> EntityRelation {
    EntityRelation(kind: .toOne(column: column, references: references))
  }

  /// The entities whose foreign key leads to this one. The field is an array, a set, or, for the one row that there may be, an
  /// optional.
  ///
  /// - Parameters:
  ///   - foreignKey: a column of the other table.
  ///   - references: the column of this table that it holds; what the table declares unless given, else the primary key.
  ///   - order: what keeps the order of an array.
  ///   - removed: what becomes of rows that the list no longer has.
  public static func toMany(
    foreignKey: String, references: String? = nil, order: Order? = nil, removed: Removal = .nullify
  ) -> EntityRelation {
    EntityRelation(kind: .toMany(foreignKey: foreignKey, references: references, order: order, removed: removed))
  }

  /// Entities by way of a table of pairs. The field is an array or a set.
  ///
  /// - Parameters:
  ///   - table: the table of pairs, which has a unique index of both columns. Its other columns have defaults.
  ///   - from: the column that leads to this entity.
  ///   - to: the column that leads to the others.
  ///   - order: what keeps the order of an array; ``Order/column(_:)`` is one of the table of pairs, and the others are of the entities.
  ///   - removed: what becomes of pairs that the list no longer has: ``Removal/keep`` keeps them, else they are deleted. The entities stay,
  ///     but for ``Removal/delete``.
  public static func through(
    _ table: String, from: String, to: String, order: Order? = nil, removed: Removal = .nullify
  ) -> EntityRelation {
    EntityRelation(kind: .through(table: table, from: from, to: to, order: order, removed: removed))
  }
}
