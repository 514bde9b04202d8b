/// The report entries of a merged list. Entries that are not conflicts are decoded from bytes on demand, because most callers read only the
/// conflicts of a report.
final class ListEntries: Sendable {
  /// A report entry that has not been decoded yet, for a field whose value was taken unchanged from one side.
  struct Undecoded: Sendable {
    /// The offset in the list's bytes at which the identity of the field's element is stored.
    let identity: Int
    let field: Int
    let outcome: MergeReport.Outcome
    let rule: String
    /// The offsets of the field's values in the list's bytes; -1 for a side that has no value.
    let base: Int
    let local: Int
    let server: Int
  }

  enum Note: Sendable {
    case undecoded(Undecoded)
    case entry(MergeReport.Entry)
  }

  let notes: [Note]
  private let bytes: [UInt8]
  private let shapes: [(number: Int, shape: RecordShape)]
  private let keys: [String]
  private let identityKey: IdentityKey

  /// - Parameters:
  ///   - bytes: the encoded list values that the offsets in the notes refer to.
  ///   - shapes: the definitions of the record shapes that occur in the bytes.
  ///   - keys: the keys of the fields. The notes refer to a key by its index.
  ///   - identityKey: the key that identifies elements.
  init(
    _ notes: [Note], bytes: [UInt8], shapes: [(number: Int, shape: RecordShape)], keys: [String],
    identityKey: IdentityKey
  ) {
    self.notes = notes
    self.bytes = bytes
    self.shapes = shapes
    self.keys = keys
    self.identityKey = identityKey
  }

  var entries: [MergeReport.Entry] {
    let bytes = bytes
    var reader = ArchiveReader(
      bytes.bytes, context: DecodingContext(includesExcluded: true, finishing: .never))
    reader.define(shapes)
    var entries: [MergeReport.Entry] = []
    entries.reserveCapacity(notes.count)
    for note in notes {
      switch note {
      case .entry(let entry): entries.append(entry)
      case .undecoded(let note):
        let id = reader.shownValue(at: note.identity) ?? .null
        let (local, server) = (reader.shownValue(at: note.local), reader.shownValue(at: note.server))
        let base = reader.shownValue(at: note.base)
        let path: [ValuePath.Component] = [.element(key: identityKey, id: id), .key(keys[note.field])]
        entries.append(
          MergeReport.Entry(
            path: ValuePath(path), outcome: note.outcome, rule: note.rule,
            base: base, local: local,
            server: server, result: note.outcome == .server ? server : local))
      }
    }
    return entries
  }

  var conflicts: [MergeReport.Entry] {
    notes.compactMap { note in
      if case .entry(let entry) = note, entry.outcome == .conflict { entry } else { nil }
    }
  }
}

extension ArchiveReader {
  /// Returns the value at an offset in the bytes. Returns `nil` for a negative offset, which means that a side has no value.
  fileprivate mutating func shownValue(at place: Int) -> ArchiveValue? {
    // The merge wrote these bytes itself, so decoding cannot fail. `try?` is used because a report's `entries` property cannot throw.
    place < 0 ? nil : try? value(at: place)
  }
}
