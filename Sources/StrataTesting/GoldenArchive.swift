internal import Foundation
internal import StrataCore

/// A generated archive that contains an array of records of one model. In the first record, every optional is nil and every
/// collection is empty. The other records, up to 64, have values and contain the cases of every enum.
struct GoldenArchive {
  private static let mostRecords = 64

  private let model: any VersionedModel.Type
  private let given: [String: [ArchiveValue]]

  /// - Parameter given: values for the fields of generated records, by model and key, such as `Issue.stars`.
  init(_ model: any VersionedModel.Type, given: [String: [ArchiveValue]]) { (self.model, self.given) = (model, given) }

  /// Generates the records and returns the encoded archive.
  ///
  /// - Throws: ``ArchiveError`` if no value can be generated for a type, or if the archive cannot be decoded.
  func encoded() throws -> Data {
    func encode<M: VersionedModel>(_ model: M.Type) throws -> Data {
      try ArchiveEncoder().encode(
        records(of: M.schema).map { try M.decode(from: .record($0), in: DecodingContext(finishing: .never)) })
    }
    let data = try encode(model)
    guard try opens(data, isOfToday: true) else {
      throw ArchiveError(.notEncodable, "a generated sample value changes when it is archived and decoded again")
    }
    return data
  }

  /// Returns a record with nil optionals and empty collections, followed by up to 64 records with values. The records with values
  /// contain each enum case, if 64 records suffice. Only the first two of them are deeply nested, because nested models have
  /// their own golden archives.
  private func records(of schema: ModelSchema) throws -> [ModelRecord] {
    let inside = (schema.inside.schemas + [schema]).flatMap { [$0] + $0.superclasses }
    let schemas = Dictionary(inside.map { ($0.name, [Self.sampled($0)]) }, uniquingKeysWith: { first, _ in first })
    var samples = SampleValues(schemas, given: given, seed: UInt64(schema.modelVersion))
    let root = Self.sampled(schema)
    var records = [try samples.record(of: root, .empty)]
    for turn in 0..<max(2, min(samples.caseCount(of: root), Self.mostRecords)) {
      records.append(try samples.record(of: root, .turn(turn), deepest: turn < 2 ? 3 : 1))
    }
    return records
  }

  /// Returns the recorded schema of a model. If no values can be generated for a type, such as an enum that does not list its cases, the
  /// type is recorded as ``RecordedType/coded(_:)`` instead.
  private static func sampled(_ schema: ModelSchema) -> RecordedSchema {
    var recorded = RecordedSchema(schema)
    for field in schema.fields where recorded.fields[field.key] != nil && refusesSamples(field.type) {
      let coded = RecordedType.coded(String(describing: field.type))
      recorded.fields[field.key]?.type = (field.shape.isOptional ? .optional(coded) : coded).text
    }
    for info in schema.cases {
      for (key, type) in zip(info.payloadKeys, info.payload) where refusesSamples(type) {
        recorded.cases?[info.name]?.payload[key] = RecordedType.coded(String(describing: type)).text
      }
    }
    return recorded
  }

  /// Whether a type, or a type inside it, accepts only certain raw values and does not list them.
  private static func refusesSamples(_ type: Any.Type) -> Bool {
    let shape = TypeShape(of: type)
    guard case .rawValue(let raw, _) = shape.kind, case .enumeration(_, nil) = RecordedType(type) else {
      return shape.parts.contains(where: refusesSamples)
    }
    // Returns whether the type decodes a sample raw value. A structure accepts any raw value, but an enum does not.
    func reads<T: Archivable>(_ type: T.Type) -> Bool {
      var samples = SampleValues([:], seed: 1)
      // `try?`, because an error only means that the type rejects the value.
      return (try? T.decode(from: samples.value(of: RecordedType(raw)), in: DecodingContext(finishing: .never))) != nil
    }
    return TypeShape.archivable(type).map { !reads($0) } ?? true
  }

  /// Opens an archive and returns whether its values are still the same after they are decoded and encoded again.
  ///
  /// The result is true without a comparison if `isOfToday` is false, which means that the archive was recorded for a different
  /// model version. The same applies if the archive contains objects, or if a model in it was upgraded or has a hook, a rule or a
  /// library field.
  ///
  /// - Throws: any error thrown while decoding the archive.
  func opens(_ data: Data, isOfToday: Bool) throws -> Bool {
    func opens<M: VersionedModel>(_ model: M.Type) throws -> Bool {
      var report = DecodingReport()
      let decoder = ArchiveDecoder(validates: false)
      let values = try decoder.decode([M].self, from: data, report: &report)
      let schemas = M.schema.inside.schemas + [M.schema]
      guard isOfToday, report.upgrades.isEmpty, !schemas.contains(where: { $0.finishesModels || $0.hook != nil }) else {
        return true
      }
      let recorded = try decoder.decodeValue(from: data)
      // Values with objects are not compared. Objects are numbered in the order of the fields, and this order may change.
      if case .graph = recorded { return true }
      return try recorded == decoder.decodeValue(from: ArchiveEncoder().encode(values))
    }
    return try opens(model)
  }

  /// Returns a hash of the records in an archive of this model, after the model's own steps have upgraded them. Returns `nil` if the
  /// archive contains objects, or if the steps give different results each time, for example because they create UUIDs.
  ///
  /// - Throws: ``ArchiveError`` if a step fails.
  static func upgraded(_ data: Data, by steps: [MigrationStep], isComplete: Bool) throws -> String? {
    guard case .array(let elements) = try ArchiveDecoder(validates: false).decodeValue(from: data) else { return nil }
    func hash() throws -> String {
      let records = try elements.map { element in
        guard case .record(var record) = element else { return element }
        for step in steps { _ = try step.apply(to: &record, isComplete: isComplete) }
        return .record(record)
      }
      return try RecordedSchema.checksum(ArchiveEncoder().encodeBody(ArchiveValue.array(records)))
    }
    let first = try hash()
    return try hash() == first ? first : nil
  }
}
