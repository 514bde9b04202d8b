/// What a merge changed.
public struct MergeReport: Sendable, Hashable {
  /// One field whose value is another than before.
  public struct Change: Sendable, Hashable {
    public let key: String
    public let old: Value?
    public let new: Value?
  }

  /// The fields that changed, in the order of the schema.
  public let changes: [Change]
  /// The keys that were merged, whether they changed anything or not, in the order of the schema.
  public let mergedKeys: [String]

  /// The keys of the fields that changed.
  public var changedKeys: [String] { changes.map(\.key) }
  /// Whether the object is as it was.
  public var isEmpty: Bool { changes.isEmpty }
}
