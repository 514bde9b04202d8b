public import StrataCore

/// A model that opens archives of the time before this library: keyed archives of Foundation, as Mantle and others
/// wrote them.
///
///     extension Issue: LegacyModel {
///       static var legacyNames: [String] { ["App.Issue", "GHIssue"] }
///     }
///
/// A model whose registered or former name is the class name in the archive needs no conformance.
public protocol LegacyModel: VersionedModel {
  /// The names of the classes whose objects become this model: `GHIssue` for a class of Objective-C, `App.Issue` for one
  /// of Swift, in whichever of its two spellings an archive has it.
  ///
  /// A subclass that does not have names of its own inherits these from its superclass, for whose objects they stay.
  static var legacyNames: [String] { get }

  /// The record of an object that Mantle wrote before its version 0.4: as one dictionary in the shape of its JSON, under the
  /// key `externalRepresentation`.
  ///
  /// By default the dictionary is read by the model's own JSON mapping, which gives a record of today's version, so that
  /// no step runs. A record of an older version, as an own implementation may return it, is upgraded.
  ///
  /// - Parameters:
  ///   - object: the dictionary.
  ///   - version: the version of the model that wrote it; 0 where it wrote none. Never above today's.
  static func record(fromExternalRepresentation object: ArchiveObject, version: Int) throws -> ModelRecord
}

extension LegacyModel {
  public static func record(fromExternalRepresentation object: ArchiveObject, version: Int) throws -> ModelRecord {
    try recordByJSON(object)
  }
}

extension VersionedModel {
  /// The record of what a dictionary holds by the model's JSON mapping. Its fields are not finished: decoding does that.
  static func recordByJSON(_ object: ArchiveObject) throws -> ModelRecord {
    let context = DecodingContext(source: .json, finishing: .never)
    return try make(fromJSON: .object(object), in: context).record(includingExcluded: true)
  }
}
