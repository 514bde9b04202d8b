public import Foundation
public import StrataCore

extension ArchiveDecoder {
  /// Decodes models from the bytes of a Foundation keyed archive.
  ///
  ///     let issues = try ArchiveDecoder().decode([Issue].self, fromKeyed: data)
  ///
  /// The result is the same as that of the method with a ``/StrataLegacy/KeyedArchive``. Only the limits on shared
  /// values in `ArchiveLimits` are counted differently.
  ///
  /// - Throws: the errors of opening a ``/StrataLegacy/KeyedArchive``, and those of the method that takes one.
  /// - Complexity: linear in the size of the archive.
  public func decode<T: Archivable>(_ type: T.Type = T.self, fromKeyed data: Data, key: String = "root") throws -> T {
    var report = DecodingReport()
    return try decode(type, fromKeyed: data, key: key, report: &report)
  }

  /// Decodes models from the bytes of a Foundation keyed archive, and reports the upgrades.
  ///
  /// - Throws: the same errors as the method without a report.
  public func decode<T: Archivable>(
    _ type: T.Type = T.self, fromKeyed data: Data, key: String = "root", report: inout DecodingReport
  ) throws -> T {
    let models = try keyedModels(of: type)
    return try decode(type, from: KeyedArchive(data, limits: limits, models: models), models, key, &report)
  }

  /// Decodes models from a Foundation keyed archive. Models that an older version wrote are upgraded.
  ///
  ///     let issues = try ArchiveDecoder().decode([Issue].self, fromKeyed: KeyedArchive(propertyList))
  ///
  /// An object becomes the model whose registered, former or legacy name (``/StrataLegacy/LegacyModel``) is the name of
  /// its class. Only models that `type` contains, and those in `ArchiveDecoder.subclasses`, are ever created. The
  /// version is Mantle's `MTLModelVersion`, or 0 if there is none. Steps, hooks, validation and former keys work as for
  /// an archive of this library. Keys without a field are ignored, and a key that holds nil leaves its field at the
  /// default. All references to an object of a class model give the same instance.
  ///
  /// Keyed archives store equal numbers once, regardless of their types. So an integer can be read from a whole
  /// floating-point number, a boolean from 0 and 1, and vice versa.
  ///
  /// - Parameters:
  ///   - type: the type of the archived value.
  ///   - archive: the archive.
  ///   - key: the top key. Most archives have only the default one.
  /// - Throws: `ArchiveError` with the code `newerModel`, before any model is created, if a newer version of a model
  ///   wrote one of the objects; `missingValue` if there is no such key; `invalidSchema` if two models claim the same
  ///   name; otherwise the errors for other archives, from `unknownType` on.
  /// - Complexity: linear in the size of the archive.
  public func decode<T: Archivable>(
    _ type: T.Type = T.self, fromKeyed archive: KeyedArchive, key: String = "root"
  ) throws -> T {
    var report = DecodingReport()
    return try decode(type, fromKeyed: archive, key: key, report: &report)
  }

  /// Decodes models from a Foundation keyed archive, and reports the upgrades.
  ///
  /// - Throws: the same errors as the method without a report.
  public func decode<T: Archivable>(
    _ type: T.Type = T.self, fromKeyed archive: KeyedArchive, key: String = "root", report: inout DecodingReport
  ) throws -> T {
    let models = try keyedModels(of: type)
    models.classes = archive.classes
    return try decode(type, from: archive, models, key, &report)
  }

  private func keyedModels<T: Archivable>(of type: T.Type) throws -> KeyedModels {
    try KeyedModels(SchemaCatalog(of: type, subclasses))
  }

  private func decode<T: Archivable>(
    _ type: T.Type, from archive: KeyedArchive, _ models: KeyedModels, _ key: String, _ report: inout DecodingReport
  ) throws -> T {
    guard let root = archive.top[key] else {
      throw ArchiveError(.missingValue, "the keyed archive has no top key \(key)")
    }
    let context = DecodingContext(
      limits: limits, source: .keyedArchive, finishing: .gathering(validates: validates))
    context.subclasses = subclasses
    if let size = archive.size { context.budget.begin(fileSize: size) }
    let graph = ObjectGraph(objects: archive.graph.objects, root: root)
    let value = try decode(type, from: graph, models, in: context)
    try context.checkFailures(of: value)
    report = context.report
    return value
  }

  private func decode<T: Archivable>(
    _ type: T.Type, from graph: ObjectGraph, _ models: KeyedModels, in context: DecodingContext
  ) throws -> T {
    try models.refuseNewer(in: graph)
    let order = ReferenceOrder(graph)
    func located<R>(_ number: Int, _ body: () throws -> R) throws -> R {
      do { return try body() } catch {
        throw order.path(to: number).reversed().reduce(ArchiveError.wrap(error)) { $0.prefixed(by: $1) }
      }
    }
    let table = ObjectTable(types: models.objectTypes, first: 0, count: order.numbers.count)
    context.objects = table
    for number in order.numbers {
      let value = order.renumbered(graph.objects[number])
      guard case .record(let record) = value else {
        table.append(value)
        continue
      }
      let known = try located(number) { try models.record(record, in: context) }
      if let type = table.type(of: known.shape) {
        table.append(try located(number) { try object(type, of: known, in: context) })
      } else {
        table.append(ArchiveValue.record(known))
      }
    }
    let root = try T.make(from: order.renumbered(graph.root), in: context)
    try table.setWaiting(in: context)
    try table.finish(in: context) { ObjectPath.find($0, from: root) }
    return root
  }

  private func object(
    _ type: any VersionedModel.Type, of record: ModelRecord, in context: DecodingContext
  ) throws -> any VersionedModel {
    try type.make(from: record, in: context, isObjectFrame: true)
  }
}
