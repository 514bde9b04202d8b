public import Foundation
public import StrataCore

extension ArchiveEncoder {
  /// Encodes a value as a Foundation keyed archive, for a program that cannot open any other format.
  ///
  ///     let data = try ArchiveEncoder().encodeKeyed(issue) { record in
  ///       guard record.typeName == "Issue" else { return }
  ///       record.rename("title", to: "summary")
  ///       record.modelVersion = 1
  ///     }
  ///
  /// - A model becomes an object of a class. The class name is the name in ``/StrataLegacy/KeyedWriting/classes``,
  ///   otherwise the first of the model's ``/StrataLegacy/LegacyModel/legacyNames``, otherwise the model's registered
  ///   name.
  /// - The model's fields keep their keys, and nil is omitted. The version is stored under `MTLModelVersion`, as in
  ///   Mantle. Excluded fields are omitted, as are conditional references to objects that nothing else refers to.
  /// - Objects of class models are written once. Strings, numbers, dates, data, URLs, UUIDs, decimals and collections
  ///   are written as Foundation's classes.
  ///
  /// The archive contains the fields of the current version. An older program expects its own keys and refuses newer
  /// versions, so `adjust` can change every record before it is written. It receives the record under the registered
  /// name of its model. If `adjust` gives a record the keys of another version, it must also set that version, so that
  /// the right migration steps run when the archive is read. Keyed archives are not compressed.
  ///
  /// - Parameters:
  ///   - value: a model, or a value that contains models.
  ///   - key: the top key.
  ///   - options: the names of classes, and the storage of numbers.
  ///   - adjust: changes a record to the form that the other program expects.
  /// - Throws: the errors of `encode(_:)` and ``/StrataLegacy/KeyedArchive/data(_:)``; `invalidSchema` if two models
  ///   have the same name; `migrationFailed` if `adjust` throws, with its error as the cause, or if it replaces a key
  ///   of a record by a key that no field of the model reads, without changing the record's version.
  public func encodeKeyed<T: Archivable>(
    _ value: T, key: String = "root", options: KeyedWriting = KeyedWriting(),
    adjust: ((inout ModelRecord) throws -> Void)? = nil
  ) throws -> Data {
    var writer = ArchiveWriter(limits: limits, notesSchemas: true)
    writer.subclasses = subclasses
    try writer.writeRoot(value)
    var catalog = SchemaCatalog(of: T.self)
    for schema in writer.schemasOfShapes.map({ $0.values.flatMap(\.self) }) ?? [] { _ = catalog.add(schema) }
    var graph: ObjectGraph
    switch try writer.value() {
    case .graph(let found): graph = found
    case let value: graph = ObjectGraph(objects: [], root: value)
    }
    if let adjust {
      // Adjusts inner records before the records that contain them, so that `adjust` receives each record with its
      // final contents.
      func adjusted(_ value: ArchiveValue) throws -> ArchiveValue {
        let value = try value.mapLocated(adjusted)
        guard case .record(let written) = value else { return value }
        var record = written
        do { try adjust(&record) } catch {
          throw ArchiveError(
            .migrationFailed, "the closure “adjust” failed for a record",
            typeName: record.typeName, underlying: error)
        }
        if let schema = catalog[record.typeName], let key = schema.unreadKey(of: record, writtenAs: written) {
          throw ArchiveError(
            .migrationFailed,
            "the model \(schema.name)@\(schema.modelVersion) has no field that reads the key \(key) of the adjusted "
              + "record; set record.modelVersion to the version that has the key",
            typeName: schema.name)
        }
        return .record(record)
      }
      graph = ObjectGraph(objects: try graph.objects.map(adjusted), root: try adjusted(graph.root))
    }
    var options = options
    try options.addClasses(of: catalog)
    var keyed = KeyedWriter(
      graph.objects, options: options, skipsNull: Set(catalog.schemas.map(\.name)))
    let top = [ArchiveObject.Entry(key: key, value: graph.root)]
    return try PropertyListWriter().write(keyed.write(top, KeyedEncoding(), archiver: "NSKeyedArchiver"))
  }
}

extension KeyedWriting {
  /// Adds the class names of each model and its superclasses to ``classes``, unless ``classes`` already contains the
  /// model. The class name is the first legacy name of the model, or its registered name if it has no legacy names.
  ///
  /// - Throws: `ArchiveError` with the code `invalidSchema` if two models have the same name.
  fileprivate mutating func addClasses(of catalog: SchemaCatalog) throws {
    for schema in catalog.schemas {
      if let error = catalog.problem(ofName: schema.name) { throw error }
      guard classes[schema.name] == nil else { continue }
      classes[schema.name] = ([schema] + schema.superclasses).map(\.legacyName) + baseClasses
    }
  }
}

extension ModelSchema {
  /// Returns a key that `adjust` added to the record although no field of the model reads it, or `nil` if there is no
  /// such key. The keys are checked only if `adjust` removed or renamed a key but did not change the version, because
  /// the keys of other versions are not known here.
  fileprivate func unreadKey(of record: ModelRecord, writtenAs written: ModelRecord) -> String? {
    guard record.modelVersion == modelVersion, !keepsUnknownFields, written.keys.contains(where: { record[$0] == nil })
    else { return nil }
    return record.keys.first { written[$0] == nil && !takenKeys.contains(ExactKey($0)) }
  }

  /// The class name of the model in keyed archives. Legacy names that are inherited from a superclass are not used.
  fileprivate var legacyName: String {
    func names(_ schema: ModelSchema) -> [String] { (schema.type as? any LegacyModel.Type)?.legacyNames ?? [] }
    let own = names(self)
    guard let first = own.first, !superclasses.contains(where: { names($0) == own }) else { return name }
    return first
  }
}
