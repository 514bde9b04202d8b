internal import Foundation
internal import StrataCore

/// An archive of an array of one model: with every optional nil and every collection empty, and with values, as often as it takes to
/// reach each case.
struct GoldenArchive {
  private let model: any VersionedModel.Type

  init(_ model: any VersionedModel.Type) { self.model = model }

  /// - Throws: ``ArchiveError`` if no value of a type inside can be made up.
  func make() throws -> Data {
    func make<M: VersionedModel>(_ model: M.Type) throws -> Data {
      var samples = SampleValues(seed: UInt64(M.schema.modelVersion))
      let values = try samples.records(of: M.schema).map { record in
        try M.make(from: .record(record), in: DecodingContext(finishing: .never))
      }
      return try ArchiveEncoder().encode(values)
    }
    return try make(model)
  }

  /// Whether the archive opens, and holds the same values as one that is written today, unless a model in it was upgraded.
  ///
  /// - Throws: the error of decoding it.
  func opens(_ data: Data, isOfToday: Bool) throws -> Bool {
    func opens<M: VersionedModel>(_ model: M.Type) throws -> Bool {
      var report = DecodingReport()
      let decoder = ArchiveDecoder(validates: false)
      let values = try decoder.decode([M].self, from: data, report: &report)
      guard isOfToday, report.upgrades.isEmpty else { return true }
      return try decoder.decodeValue(from: data) == decoder.decodeValue(from: ArchiveEncoder().encode(values))
    }
    return try opens(model)
  }
}
