public import StrataCore

/// A model that opens archives older than this library: Foundation keyed archives, as written by Mantle and others.
///
///     extension Issue: LegacyModel {
///       static var legacyNames: [String] { ["App.Issue", "GHIssue"] }
///     }
///
/// A model whose registered or former name is the class name in the archive needs no conformance.
public protocol LegacyModel: VersionedModel {
  /// The names of the classes whose objects become this model: `GHIssue` for an Objective-C class, or `App.Issue` for a
  /// Swift class, whichever of its two spellings an archive has.
  ///
  /// A subclass that declares no names inherits these, but objects with these names still become the superclass.
  static var legacyNames: [String] { get }

  /// Converts an object that Mantle wrote before version 0.4: one dictionary in the shape of its JSON, under the key
  /// `externalRepresentation`.
  ///
  /// By default the model's own JSON mapping reads the dictionary. This gives a record of the current version, so no
  /// step runs. A custom implementation may return a record of an older version, which is then upgraded.
  ///
  /// - Parameters:
  ///   - object: the dictionary.
  ///   - version: the version of the model that wrote it, or 0 if it wrote none. Never above the current version.
  static func record(fromExternalRepresentation object: ArchiveObject, version: Int) throws -> ModelRecord
}

extension LegacyModel {
  public static func record(fromExternalRepresentation object: ArchiveObject, version: Int) throws -> ModelRecord {
    try recordByJSON(object)
  }
}

extension VersionedModel {
  /// Reads a dictionary by the model's JSON mapping. Hooks and validation run in the decoding after it.
  static func recordByJSON(_ object: ArchiveObject) throws -> ModelRecord {
    let context = DecodingContext(source: .json, finishing: .never)
    return try decode(fromJSON: .object(object), in: context).record(includingExcluded: true)
  }
}
