public import Foundation

extension Model {
  /// Folds an archive of this model in, whichever version of it wrote the archive.
  ///
  /// The record is upgraded first. Keys that it lacks then are left alone, and null is a value.
  ///
  /// - Throws: as ``ArchiveDecoder``, and as `mergeValues(from:base:options:)`.
  @discardableResult
  public mutating func mergeValues(
    fromArchive data: Data, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    switch try ArchiveDecoder().decodeValue(from: data) {
    case .record(let record): return try mergeValues(fromRecord: record, base: base, options: options)
    case .graph:
      let source = try ArchiveDecoder(validates: false).decode(Self.self, from: data)
      guard let base else { return try mergeValues(from: source, options: options) }
      return try mergeValues(from: source, base: base, options: options)
    case let value: throw ArchiveError.mismatch(expected: "a record of \(Self.schema.name)", found: value.kind)
    }
  }

  /// Folds a record in, of this or an older version: part of a model, as ``ArchiveDecoder/decodeValue(from:)`` or a
  /// step makes one.
  ///
  /// - Throws: as `mergeValues(fromArchive:)`.
  @discardableResult
  public mutating func mergeValues(
    fromRecord record: Record, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    let schema = Self.schema
    let context = DecodingContext(includesExcluded: true, finishesModels: false)
    let (slots, _) = try schema.upgradedFields(of: record, in: context)
    let base = try base ?? rememberedBase
    let neighbours = ObjectNeighbours()
    let own = try shallowRecord(neighbours)
    var overlaid = try base?.shallowRecord(neighbours) ?? own
    var present = Set<String>()
    for (field, slot) in zip(schema.fields, slots) {
      guard let slot else { continue }
      present.insert(field.key)
      do { overlaid[field.key] = try field.typed(slot, neighbours, in: context) } catch {
        throw ArchiveError.at(.key(field.key), error).inType(schema.name)
      }
    }
    let plain = DecodingContext(source: .merge, includesExcluded: true, finishesModels: false)
    let source = try MergeCommit.made(Self.self, overlaid, in: plain, neighbours)
    return try merge(
      source, source.shallowRecord(neighbours), neighbours, present: present, base: base, options)
  }
}
