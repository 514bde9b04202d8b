internal import Foundation
internal import StrataCore

/// An archive of an array of one model: with every optional nil and every collection empty, and with values, as often as it takes to
/// reach each case.
struct GoldenArchive {
  private let model: any VersionedModel.Type

  init(_ model: any VersionedModel.Type) { self.model = model }

  /// - Throws: ``ArchiveError`` if no value of a type inside can be made up, or if the archive does not open.
  func make() throws -> Data {
    func make<M: VersionedModel>(_ model: M.Type) throws -> Data {
      var samples = SampleValues(seed: UInt64(M.schema.modelVersion))
      let values = try samples.records(of: M.schema).map { record in
        try M.make(from: .record(record), in: DecodingContext(finishing: .never))
      }
      return try ArchiveEncoder().encode(values)
    }
    let data = try make(model)
    guard try opens(data, isOfToday: true) else {
      throw ArchiveError(.notEncodable, "a value that was made up changes when it is archived and opened")
    }
    return data
  }

  /// Whether the archive opens, and holds the same values as one that is written today.
  ///
  /// The values are not compared if the archive has objects, or if a model in it was upgraded, or has a hook, a rule or data of the library.
  ///
  /// - Throws: the error of decoding it.
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
      // Objects are numbered in the order of the fields, which may change.
      if case .graph = recorded { return true }
      return try recorded == decoder.decodeValue(from: ArchiveEncoder().encode(values))
    }
    return try opens(model)
  }
}
