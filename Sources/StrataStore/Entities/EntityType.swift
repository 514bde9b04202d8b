package import GRDB
package import StrataCore

/// An entity and its mapping, with the names of columns and relations resolved to indices.
package struct EntityType: Sendable {
  /// A field that is stored in a column.
  package struct Attribute: Sendable {
    /// The index of the field in the model's schema.
    package let place: Int
    package let slot: Int
    let coding: ColumnCoding
    package let isWritten: Bool
    /// Whether an incoming value always replaces the existing value, so that no merge is needed.
    package let isPlain: Bool
    /// Whether a fetch replaces or skips enum cases in the column if this program does not know them.
    var replacesUnknownCases = false

    /// Returns whether two column values are equal after decoding. The decoded values are compared because different column values
    /// can represent the same value, such as two strings for the same date.
    func isSame(_ value: DatabaseValue, _ known: DatabaseValue?) throws -> Bool {
      guard !value.isExactly(known) else { return true }
      guard let known, !coding.isExact, !known.isNull, !value.isNull,
        // An existing value that cannot be decoded counts as different, so it is overwritten.
        let old = try? coding.value(of: known)
      else { return false }
      return (try? coding.value(of: value)) == old
    }
  }

  /// A field that refers to other entities.
  package struct Relation: Sendable {
    package enum Cardinality: Sendable {
      /// - Parameters:
      ///   - slot: the index of the foreign key column in the entity's own table.
      ///   - referenced: the index of the referenced column in the other entity's table.
      case toOne(slot: Int, referenced: Int)
      /// - Parameters:
      ///   - slot: the index of the foreign key column in the other entity's table.
      ///   - referenced: the index of the referenced column in the entity's own table.
      case toMany(slot: Int, referenced: Int, order: Order?, removed: EntityRelation.Removal)
      case through(Pairs, order: Order?, removed: EntityRelation.Removal)
    }

    package struct Pairs: Sendable {
      package let table: Int
      package let from: Int
      package let to: Int
      /// The indices of the columns that the join table's columns `from` and `to` reference. Each index refers to the table of
      /// the referenced entity.
      package let fromReferenced: Int
      package let toReferenced: Int
    }

    package enum Order: Sendable {
      /// The order of the list is stored. A save writes each element's position to the column with this index, in the table that
      /// contains the foreign key.
      case kept(Int)
      /// A fetch sorts the list by the column with this index, in the table of the other entity.
      case sorted(Int, isDescending: Bool)
    }

    package enum Shape: Sendable { case one, array, set }

    package let place: Int
    package let key: String
    /// The index of the related entity in the catalog.
    package let target: Int
    package private(set) var cardinality: Cardinality
    package let shape: Shape
    package let isOptional: Bool
    /// Whether a merge leaves the relation unchanged in existing rows.
    let keepsLocal: Bool
    /// The index of the column in the entity's own table that identifies the related rows. For a to-one relation, it is the foreign
    /// key. For all other relations, it is the column that other tables' foreign keys reference.
    var slot: Int {
      switch cardinality {
      case .toOne(let slot, _): slot
      case .toMany(_, let referenced, _, _): referenced
      case .through(let pairs, _, _): pairs.fromReferenced
      }
    }
    /// The rule for elements that are removed from the list, or `nil` for a to-one relation.
    var removed: EntityRelation.Removal? {
      switch cardinality {
      case .toOne: nil
      case .toMany(_, _, _, let removed), .through(_, _, let removed): removed
      }
    }
    /// The same relation, except that elements removed from a list are kept (`.keep`).
    var keeping: Relation {
      var result = self
      result.cardinality =
        switch cardinality {
        case .toOne: cardinality
        case .toMany(let slot, let referenced, let order, _):
          .toMany(slot: slot, referenced: referenced, order: order, removed: .keep)
        case .through(let pairs, let order, _): .through(pairs, order: order, removed: .keep)
        }
      return result
    }
  }

  package struct Key: Sendable {
    let name: String
    package let slots: [Int]
    /// The collation that the key's unique index uses for each column, or `nil` for the column's default collation.
    package let collations: [String?]
  }

  package let type: any Entity.Type
  let mapping: EntityMapping
  /// The registered name of the model, used in error messages.
  package var name: String { schema.name }
  package let table: Int
  package internal(set) var attributes: [Attribute] = []
  package internal(set) var relations: [Relation] = []
  package internal(set) var keys: [Key] = []
  /// The index of the ``RowBase`` field in the model's schema, or `nil` if there is none.
  var rowBase: Int?
  /// The objects that apply the fields' merge policies. `whole` is used if the source contains complete models, and `part` if the
  /// source may lack fields.
  let merging: (whole: FieldMerging, part: FieldMerging)
  package var schema: ModelSchema { type.schema }
  /// Whether the entity's objects have validation rules or hooks, which run after the rows have been written.
  var finishes: Bool { schema.finishesModels && (schema.decodingHook != nil || schema.validationHook != nil) }
  /// The keys of a record that contains only the attributes.
  var shape: RecordShape
  /// The keys of a record that contains the attributes, the relations and the ``RowBase`` field, in schema order. `recordPlaces`
  /// contains the index of each value in such a record.
  private(set) var recordShape: RecordShape
  private(set) var recordPlaces: (attributes: [Int], relations: [Int], rowBase: Int?) = ([], [], nil)

  init(_ type: any Entity.Type, _ mapping: EntityMapping, table: Int) {
    self.type = type
    self.mapping = mapping
    self.table = table
    merging = (FieldMerging(type, isWhole: true), FieldMerging(type, isWhole: false))
    shape = type.schema.fullShape
    recordShape = type.schema.fullShape
  }

  /// Sets `shape`, `recordShape` and `recordPlaces`. Must be called after all attributes and relations have been added.
  mutating func setShapes() {
    shape = shape(of: attributes.map(\.place))
    let places = (attributes.map(\.place) + relations.map(\.place) + (rowBase.map { [$0] } ?? [])).sorted()
    recordShape = shape(of: places)
    let indices = Dictionary(uniqueKeysWithValues: zip(places, places.indices))
    recordPlaces = (
      attributes.map { indices[$0.place] ?? 0 }, relations.map { indices[$0.place] ?? 0 },
      rowBase.flatMap { indices[$0] }
    )
  }

  /// Returns the keys of a record that contains only the fields with the given indices.
  ///
  /// - Parameter incomplete: the keys of the fields whose lists lack elements because these were invalid.
  package func shape(of places: [Int], incomplete: Set<String> = []) -> RecordShape {
    guard incomplete.isEmpty else {
      let gaps = Dictionary(uniqueKeysWithValues: incomplete.map { (ExactKey($0), RecordShape.Gap.invalidElements) })
      return schema.fullShape.with(gaps, limitedTo: places.map { schema.allKeys[$0] })
    }
    guard places.count < schema.fields.count else { return schema.fullShape }
    return schema.fullShape.limited(to: places.map { schema.allKeys[$0] })
  }

  package func merging(isWhole: Bool) -> FieldMerging { isWhole ? merging.whole : merging.part }

  func key(of attribute: Attribute) -> String { schema.fields[attribute.place].key }

  /// Returns the attribute that is stored in the column with the given index, or `nil` if there is none.
  package func attribute(of slot: Int) -> Attribute? { attributes.first { $0.slot == slot } }

  package func value(of attribute: Attribute, _ stored: DatabaseValue, in table: EntityTable) throws -> ArchiveValue {
    do { return try attribute.coding.value(of: stored) } catch { throw unreadable(error, attribute, table) }
  }

  /// Returns the value that a fetch reads from a column. Unknown enum cases in JSON and in archives are replaced or skipped.
  func fetchedValue(of attribute: Attribute, _ stored: DatabaseValue, in table: EntityTable) throws -> ArchiveValue {
    guard attribute.replacesUnknownCases else { return try value(of: attribute, stored, in: table) }
    do { return try attribute.coding.value(of: stored, for: schema.fields[attribute.place]) } catch {
      throw unreadable(error, attribute, table)
    }
  }

  private func unreadable(_ error: any Error, _ attribute: Attribute, _ table: EntityTable) -> EntityError {
    located(error, .notReadable, "the column's value cannot be decoded as the property's type", attribute, table)
  }

  /// Returns whether a column contains unknown enum cases and a fetch reads the column as the given value. An object that still has
  /// this value was not edited, so a save must keep the column.
  func isReplacedCase(_ stored: DatabaseValue?, _ value: ArchiveValue, _ attribute: Attribute) -> Bool {
    guard attribute.replacesUnknownCases, let stored, !stored.isNull else { return false }
    let field = schema.fields[attribute.place]
    // `try?`, because a column that cannot be read cannot have been fetched, so no object can have its value.
    if let read = try? attribute.coding.value(of: stored) {
      return (try? field.replacingUnknownCases(in: read)) == value
    }
    return (try? attribute.coding.value(of: stored, for: field)) == value
  }

  package func stored(_ value: ArchiveValue, _ attribute: Attribute, in table: EntityTable) throws -> DatabaseValue {
    do { return try attribute.coding.stored(value) } catch {
      throw located(error, .notStorable, "the column cannot store the property's value", attribute, table)
    }
  }

  private func located(
    _ error: any Error, _ code: EntityError.Code, _ reason: String, _ attribute: Attribute, _ table: EntityTable
  ) -> EntityError {
    (error as? EntityError ?? EntityError(code, reason, underlying: error)).located(
      entity: name, path: [.key(key(of: attribute))], table: table.name, columns: [table.columns[attribute.slot].name])
  }
}
