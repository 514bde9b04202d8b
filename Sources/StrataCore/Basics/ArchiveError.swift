/// An error of an archive, a migration, a merge or a JSON document, with its path.
///
/// Messages name keys, types, sizes and versions, and never values.
public struct ArchiveError: Error, Sendable {
  /// The kind of failure. Only the code is part of the interface; the wording of ``description`` may change.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    // Opening
    /// The bytes are not a Strata archive.
    case notAnArchive
    /// The archive has a newer format than this program supports.
    case newerFormat
    /// The bytes end before the end of the archive.
    case truncated
    /// The bytes were changed: a checksum or the structure is wrong.
    case damaged
    /// The value is deeper, longer or larger than ``ArchiveLimits`` allow, or takes more work than they allow.
    case limitExceeded
    // Decoding
    /// The object was written by a newer version of the model than this program has.
    case newerModel
    /// The object is older than the first step of its model.
    case unsupportedVersion
    /// The object has a different type than expected, or a type that this program does not declare.
    case unknownType
    /// The value has a different kind than expected.
    case typeMismatch
    /// A key without a default is absent, or a value that cannot be nil is null.
    case missingValue
    /// The enum has no such case.
    case unknownCase
    /// The value has the right kind, but is rejected by the code of its type or by a transformer. Or references form a cycle that
    /// the type cannot hold.
    case rejected
    // Validating
    /// Rules of the model are broken; ``ArchiveError/failures`` lists them.
    case invalid
    // Upgrading
    /// The steps of a model have a gap or duplicates, or do not end at its version.
    case invalidMigration
    /// A step or a hook failed; ``ArchiveError/underlyingError`` has its error.
    case migrationFailed
    // Merging
    /// A policy or a hook failed, or the sides cannot be merged. Nothing was changed.
    case mergeFailed
    /// The model declares no such key.
    case unknownKey
    // Encoding
    /// The value cannot be archived, or cannot be written as JSON.
    case notEncodable
    /// The declaration of a model has a mistake, such as a duplicate key.
    case invalidSchema
    // JSON
    /// The text is not JSON, or the JSON is not a patch or a pointer.
    case invalidJSON
    /// The JSON mapping of a model has a mistake, such as two fields on one path.
    case invalidMapping
    // Files
    /// The operating system refused to read or write; ``ArchiveError/underlyingError`` has its error.
    case fileSystem
    /// Another writer uses the file, or has changed it.
    case fileInUse
  }

  /// One step of a path: a key, or an index of an array.
  public enum PathComponent: Sendable, Hashable {
    /// The value under a key.
    case key(String)
    /// The element at an index.
    case index(Int)
  }

  struct Details: Sendable {
    let code: Code
    var reason: String
    var path: [PathComponent]
    var typeName: String?
    let foundVersion: Int?
    let supportedVersion: Int?
    let limit: ArchiveLimits.Limit?
    var byteOffset: Int?
    let underlying: (any Error)?
    var failures: [ValidationFailure]
    /// The path in JSON; `nil` if it is the same as the coding path.
    var jsonPath: [PathComponent]?
    /// The rejected value.
    var input: (any Sendable)?
    /// The errors that were collected with this one.
    var others: [ArchiveError] = []
    /// The name of the file that was being read.
    var fileName: String?
  }

  /// Keeps the fields off the stack, so that throwing functions stay cheap.
  private final class Storage: Sendable {
    let details: Details

    init(_ details: Details) { self.details = details }
  }

  private let storage: Storage
  var details: Details { storage.details }

  package init(
    _ code: Code, _ reason: String, path: [PathComponent] = [], typeName: String? = nil,
    foundVersion: Int? = nil, supportedVersion: Int? = nil, limit: ArchiveLimits.Limit? = nil,
    byteOffset: Int? = nil, underlying: (any Error)? = nil, failures: [ValidationFailure] = [],
    jsonPath: [PathComponent]? = nil, input: (any Sendable)? = nil
  ) {
    self.init(
      Details(
        code: code, reason: reason, path: path, typeName: typeName, foundVersion: foundVersion,
        supportedVersion: supportedVersion, limit: limit, byteOffset: byteOffset, underlying: underlying,
        failures: failures, jsonPath: jsonPath, input: input))
  }

  private init(_ details: Details) { storage = Storage(details) }

  /// The kind of failure.
  public var code: Code { details.code }
  /// The problem and its remedy, without the path.
  public var reason: String { details.reason }
  /// The path to the failure, outermost step first; empty at the root.
  public var codingPath: [PathComponent] { details.path }
  /// The key that failed: the last one of the path.
  public var key: String? {
    for case .key(let key) in details.path.reversed() { return key }
    return nil
  }
  /// The name of the type that was being read or written.
  public var typeName: String? { details.typeName }
  /// The model or format version that the data has.
  public var foundVersion: Int? { details.foundVersion }
  /// The expected version, usually the newest one that this program reads. For `unsupportedVersion` it is the oldest
  /// one that the model upgrades, or the version of the other side of a merge. For a failed step it is the version after the step.
  public var supportedVersion: Int? { details.supportedVersion }
  /// The limit that was exceeded.
  public var limit: ArchiveLimits.Limit? { details.limit }
  /// The offset of the failure in the inflated bytes, or in the file if nothing was inflated yet.
  public var byteOffset: Int? { details.byteOffset }
  /// The error that a hook, a step, a `Codable` type or the operating system threw.
  public var underlyingError: (any Error)? { details.underlying }
}

extension ArchiveError {
  /// Returns a changed copy of the error.
  func changed(_ change: (inout Details) -> Void) -> ArchiveError {
    var details = details
    change(&details)
    return ArchiveError(details)
  }

  /// Returns the error with one more step in front of its path.
  ///
  /// - Parameter json: the corresponding steps in JSON, if they differ.
  package func prefixed(by component: PathComponent, json: [PathComponent]? = nil) -> ArchiveError {
    let steps = json ?? [component]
    return changed {
      if $0.jsonPath != nil || steps != [component] { $0.jsonPath = steps + jsonPath }
      $0.path.insert(component, at: 0)
      $0.failures = failures.map { $0.prefixed(by: [component]) }
      $0.others = $0.others.map { $0.prefixed(by: component, json: json) }
    }
  }

  /// Returns the error with the type that was being read, unless the error already has one.
  package func inType(_ name: String) -> ArchiveError {
    typeName == nil ? changed { $0.typeName = name } : self
  }
}

extension ArchiveError {
  /// Returns `error` with `component` in front of its path. An error of another type becomes the cause of an `ArchiveError`.
  package static func at(_ component: PathComponent, _ error: any Error) -> ArchiveError {
    wrap(error).prefixed(by: component)
  }

  /// Returns `error` itself if it is an `ArchiveError`, otherwise an `ArchiveError` with `error` as its cause.
  package static func wrap(_ error: any Error) -> ArchiveError {
    if let known = error as? ArchiveError { return known }
    return ArchiveError(.rejected, "the type's own code refused the value", underlying: error)
  }

  package static func tooDeep(_ limit: Int) -> ArchiveError {
    ArchiveError(
      .limitExceeded, "nested more than \(limit) levels deep; raise the depth limit if this is expected",
      limit: .depth)
  }

  package static func damaged(_ reason: String, at offset: Int) -> ArchiveError {
    ArchiveError(.damaged, reason, byteOffset: offset)
  }

  package static func mismatch(expected: String, found: String, at offset: Int? = nil) -> ArchiveError {
    ArchiveError(.typeMismatch, "found \(found) where \(expected) is expected", byteOffset: offset)
  }
}
