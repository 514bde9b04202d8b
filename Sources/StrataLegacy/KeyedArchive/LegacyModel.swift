public import StrataCore

/// A model that can be decoded from archives older than this library: Foundation keyed archives written by Mantle or by
/// other programs.
///
///     extension Issue: LegacyModel {
///       static var legacyNames: [String] { ["App.Issue", "GHIssue"] }
///     }
///
/// A model does not need this conformance if the class name in the archive is its registered name or one of its former
/// names.
public protocol LegacyModel: VersionedModel {
  /// The names of the classes whose objects are decoded as this model: `GHIssue` for an Objective-C class, or
  /// `App.Issue` for a Swift class. A Swift class can also be spelled `_TtC3App5Issue` in an archive, and `App.Issue`
  /// matches this spelling too.
  ///
  /// A subclass that declares no names of its own inherits these names. Objects of classes with these names are still
  /// decoded as the superclass.
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
  /// Reads the dictionary of an old Mantle object with the model's JSON mapping. Hooks and validation do not run here,
  /// because they run when the resulting record is decoded.
  static func recordByJSON(_ object: ArchiveObject) throws -> ModelRecord {
    let context = DecodingContext(source: .json, finishing: .never)
    return try decode(fromJSON: .object(object), in: context).record(includingExcluded: true)
  }
}
