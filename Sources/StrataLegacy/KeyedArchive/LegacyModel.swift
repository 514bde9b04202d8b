public import StrataCore

/// A model that can be decoded from archives older than this library, which are Foundation keyed archives written by
/// Mantle and others.
///
///     extension Issue: LegacyModel {
///       static var legacyNames: [String] { ["App.Issue", "GHIssue"] }
///     }
///
/// A model does not need this conformance if its registered name or a former name is the class name in the archive.
public protocol LegacyModel: VersionedModel {
  /// The names of the classes whose objects become this model: `GHIssue` for an Objective-C class, or `App.Issue` for a
  /// Swift class. An archive can spell a Swift class in two ways, and `App.Issue` matches both spellings.
  ///
  /// A subclass that declares no names of its own inherits these names, but objects with these names still become the
  /// superclass.
  static var legacyNames: [String] { get }

  /// Converts an object that was written by a Mantle version before 0.4. Such an object is a single dictionary in the
  /// form of the model's JSON, under the key `externalRepresentation`.
  ///
  /// By default, the model's own JSON mapping reads the dictionary. The result is a record of the current version, so
  /// no migration step runs. A custom implementation can return a record of an older version, which is then upgraded.
  ///
  /// - Parameters:
  ///   - object: the dictionary.
  ///   - version: the version of the model that wrote the dictionary, or 0 if no version was written. The version is
  ///     never greater than the current version.
  static func record(fromExternalRepresentation object: ArchiveObject, version: Int) throws -> ModelRecord
}

extension LegacyModel {
  public static func record(fromExternalRepresentation object: ArchiveObject, version: Int) throws -> ModelRecord {
    try recordByJSON(object)
  }
}

extension VersionedModel {
  /// Reads a dictionary with the model's JSON mapping. Hooks and validation run when the record is decoded afterwards.
  static func recordByJSON(_ object: ArchiveObject) throws -> ModelRecord {
    let context = DecodingContext(source: .json, finishing: .never)
    return try decode(fromJSON: .object(object), in: context).record(includingExcluded: true)
  }
}
