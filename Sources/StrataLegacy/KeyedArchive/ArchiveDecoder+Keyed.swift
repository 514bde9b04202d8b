public import Foundation
public import StrataCore

extension ArchiveDecoder {
  /// Decodes models from the bytes of a Foundation keyed archive.
  ///
  ///     let issues = try ArchiveDecoder().decode([Issue].self, fromKeyed: data)
  ///
  /// This method opens a ``/StrataLegacy/KeyedArchive`` with the decoder's limits and decodes from it.
  ///
  /// - Throws: the errors of opening a ``/StrataLegacy/KeyedArchive``, and the errors of decoding from an opened
  ///   archive.
  /// - Complexity: linear in the size of the archive.
  public func decode<T: Archivable>(_ type: T.Type = T.self, fromKeyed data: Data, key: String = "root") throws -> T {
    var report = DecodingReport()
    return try decode(type, fromKeyed: data, key: key, report: &report)
  }

  /// Decodes models from the bytes of a Foundation keyed archive, and reports which models were upgraded.
  ///
  /// - Throws: the same errors as the method without a report.
  public func decode<T: Archivable>(
    _ type: T.Type = T.self, fromKeyed data: Data, key: String = "root", report: inout DecodingReport
  ) throws -> T {
    try decode(type, fromKeyed: KeyedArchive(data, limits: limits), key: key, report: &report)
  }

  /// Decodes models from a Foundation keyed archive. Models written by an older version are upgraded.
  ///
  ///     let issues = try ArchiveDecoder().decode([Issue].self, fromKeyed: KeyedArchive(propertyList))
  ///
  /// An object becomes the model whose registered, former or legacy name (``/StrataLegacy/LegacyModel``) equals the
  /// name of the object's class. Only models that `type` contains and models in `ArchiveDecoder.subclasses` are
  /// created. The version is Mantle's `MTLModelVersion`, or 0 if there is none. Migration steps, hooks, validation and
  /// former keys work as in an archive of this library. Keys without a field are ignored. If the value of a key is nil,
  /// the field keeps its default value. All references to an object of a class model are decoded as the same instance.
  ///
  /// Keyed archives store equal numbers once, regardless of their types. Therefore an integer can be read from a whole
  /// floating-point number, a boolean from 0 and 1, and vice versa.
  ///
  /// - Parameters:
  ///   - type: the type of the archived value.
  ///   - archive: the archive.
  ///   - key: the top key. Most archives have only the default key.
  /// - Throws: `ArchiveError` with the code `newerModel`, before any model is created, if a newer version of a model
  ///   wrote one of the objects; `missingValue` if the key does not exist; `invalidSchema` if two models claim the same
  ///   name; `unknownType`, `typeMismatch`, `missingValue`, `unknownCase`, `rejected`, `invalid`, `invalidMigration` or
  ///   `migrationFailed` as for other archives.
  /// - Complexity: linear in the size of the archive.
  public func decode<T: Archivable>(
    _ type: T.Type = T.self, fromKeyed archive: KeyedArchive, key: String = "root"
  ) throws -> T {
    var report = DecodingReport()
    return try decode(type, fromKeyed: archive, key: key, report: &report)
  }

  /// Decodes models from a Foundation keyed archive, and reports which models were upgraded.
  ///
  /// - Throws: the same errors as the method without a report.
  public func decode<T: Archivable>(
    _ type: T.Type = T.self, fromKeyed archive: KeyedArchive, key: String = "root", report: inout DecodingReport
  ) throws -> T {
    guard let root = archive.top[key] else {
      throw ArchiveError(.missingValue, "the keyed archive has no top-level key \(key)")
    }
    let models = try KeyedModels(SchemaCatalog(of: type, and: subclasses), archive.classes)
    let context = DecodingContext(
      limits: limits, source: .keyedArchive, finishing: .gathering(validates: validates))
    context.subclasses = subclasses
    let graph = ObjectGraph(objects: archive.graph.objects, root: root)
    context.budget.begin(fileSize: archive.size ?? graph.objects.reduce(graph.root.size) { $0 + $1.size })
    let value = try decode(type, from: graph, models, in: context)
    try context.checkFailures(of: value)
    report = context.report
    return value
  }

  private func decode<T: Archivable>(
    _ type: T.Type, from graph: ObjectGraph, _ models: KeyedModels, in context: DecodingContext
  ) throws -> T {
    var models = models
    let numbers = graph.objects.indices
    var uses = [Int](repeating: 0, count: numbers.count)
    func references(in value: ArchiveValue) -> [Int] {
      let found = value.references.filter(numbers.contains)
      for number in found { uses[number] += 1 }
      return found
    }
    // Decode each object after the objects that it refers to, except where references form a cycle.
    let order = Postorder.numbers(from: references(in: graph.root)) { references(in: graph.objects[$0]) }
    var indices = [Int](repeating: -1, count: numbers.count)
    for (index, number) in order.enumerated() { indices[number] = index }
    func renumbered(_ value: ArchiveValue) -> ArchiveValue {
      guard value.hasReferences else { return value }
      return value.mapReferences { .reference(numbers.contains($0) ? indices[$0] : -1) }
    }
    func located<R>(_ number: Int, _ body: () throws -> R) throws -> R {
      do { return try body() } catch { throw graph.located(error, at: number) }
    }
    // Reject records of newer model versions before any model is created. Otherwise the hooks of some models would run
    // although the archive cannot be decoded.
    for number in numbers where indices[number] >= 0 {
      if case .record(let record) = graph.objects[number] { try located(number) { try models.refuseNewer(record) } }
    }
    let table = ObjectTable(types: models.objectTypes, first: 0, count: order.count)
    table.placing = context.budget
    context.objects = table
    // Some references are replaced with a copy of the object that they refer to. For each object, this array contains
    // the number of values in such a copy, including the objects copied into it, or 0 if references to the object are
    // kept. If no object is referenced twice, every record that is not a class instance is copied, so the array is not
    // needed and stays empty.
    let hasShared = uses.contains { $0 > 1 }
    var placedSizes = [Int](repeating: 0, count: hasShared ? order.count : 0)
    for number in order {
      let value = renumbered(graph.objects[number])
      guard case .record(let record) = value else {
        table.append(value)
        continue
      }
      try located(number) {
        let known = try models.record(record, in: context) { try table.place($0, in: context) { $0 } }
        let value = ArchiveValue.record(known ?? record)
        if let type = known.flatMap({ table.type(of: $0.shape) }) {
          table.append(try table.place(value, in: context) { try object(type, of: $0, in: context) })
          return
        }
        table.append(value) { size in
          guard hasShared else { return true }
          var size = size
          value.forEachReference { if placedSizes.indices.contains($0) { size += placedSizes[$0] } }
          let isPlaced =
            uses[number] == 1 || size <= (known == nil ? Self.largestSharedUnknown : Self.largestSharedKnown)
          if isPlaced { placedSizes[indices[number]] = min(size, Self.largestSize) }
          return isPlaced
        }
      }
    }
    let root = try table.place(renumbered(graph.root), in: context) { try T.decode(from: $0, in: context) }
    try table.setWaiting(in: context)
    try table.finish(in: context) { ObjectPath.find($0, from: root) }
    return root
  }

  // An object without a model that is referenced more than once is copied in place of each reference if it has at most
  // this number of values. References to larger objects are kept. The limit is the default of
  // ``ArchiveLimits/maxWorkPerByte``.
  private static var largestSharedUnknown: Int { 64 }
  // The limit for an object with a model. It is higher than the limit for an object without a model, because a model
  // that is not a class is decoded again for each reference anyway.
  private static var largestSharedKnown: Int { 1 << 16 }
  /// The maximum number of values recorded for one object. Larger numbers are clamped, so that their sums do not
  /// overflow.
  private static var largestSize: Int { 1 << 30 }

  private func object(
    _ type: any VersionedModel.Type, of value: ArchiveValue, in context: DecodingContext
  ) throws -> any VersionedModel {
    guard case .record(let record) = value else { throw ArchiveError.mismatch(expected: "a record", found: value.kind) }
    return try type.decode(from: record, in: context, isObjectFrame: true)
  }
}
