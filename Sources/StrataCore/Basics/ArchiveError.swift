/// An error in an archive, a migration, a merge or a JSON document, with the path to the failing value.
///
/// Messages contain keys, types, sizes and versions, but never values.
public struct ArchiveError: Error, Sendable {
  /// The kind of failure. The codes are grouped by operation: opening, decoding, validating, upgrading, merging, encoding, JSON and files.
  /// They do not change between releases, but the wording of ``description`` may change.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// The bytes are not a Strata archive.
    case notAnArchive
    /// The archive has a newer format version than this program supports.
    case newerFormat
    /// The bytes end before the end of the archive.
    case truncated
    /// The bytes were changed after they were written: a checksum or the structure is wrong.
    case damaged
    /// The value exceeds one of the ``ArchiveLimits``: it is too deep, too long or too large, or takes too much work to read.
    case limitExceeded
    /// The object was written with a newer version of the model than the version that this program declares.
    case newerModel
    /// The object was written with a model version that is older than the model's first migration step.
    case unsupportedVersion
    /// The object has an unexpected type, or a type that this program does not declare.
    case unknownType
    /// The value has an unexpected kind, such as text instead of a number.
    case typeMismatch
    /// A key is absent and its field has no default, or a value is null and its field is not optional.
    case missingValue
    /// The value names a case that the enum does not have.
    case unknownCase
    /// The value has the right kind, but was rejected by a transformer or by the type's own code. This code is also used if references form
    /// a cycle that the type cannot represent.
    case rejected
    /// The value breaks rules of its model. ``ArchiveError/failures`` lists the broken rules.
    case invalid
    /// The migration steps of a model have a gap or duplicates, or do not end at the current version.
    case invalidMigration
    /// A migration step or a hook failed with the error in ``ArchiveError/underlyingError``.
    case migrationFailed
    /// A merge policy or a hook failed, or the two sides cannot be merged. Nothing was changed.
    case mergeFailed
    /// The model does not declare the key.
    case unknownKey
    /// The value cannot be archived, or cannot be written as JSON.
    case notEncodable
    /// The declaration of a model is invalid, for example because two fields have the same key.
    case invalidSchema
    /// The text is not valid JSON, or not a valid JSON patch or JSON pointer.
    case invalidJSON
    /// The JSON mapping of a model is invalid, for example because two fields have the same path.
    case invalidMapping
    /// Reading or writing a file failed. ``ArchiveError/underlyingError`` is the error of the operating system.
    case fileSystem
    /// Another writer is using the file, or has changed the file in the meantime.
    case fileInUse
  }

  /// One step of a path: a key, or an index of an array.
  public enum PathComponent: Sendable, Hashable {
    /// The key of a field, or of an entry in an object or dictionary.
    case key(String)
    /// The index of an element.
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
    /// The other errors that the same operation collected.
    var others: [ArchiveError] = []
    var fileName: String?
  }

  /// Stores the details of an error on the heap, which keeps the error itself one word in size. Throwing functions are slower if their
  /// errors are large.
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

  /// The kind of failure. Programs should test this code instead of the message.
  public var code: Code { details.code }
  /// The problem and its remedy, without the path to the failing value.
  public var reason: String { details.reason }
  /// The path to the failing value, outermost component first; empty if the root failed.
  public var codingPath: [PathComponent] { details.path }
  /// The last key in the path to the failing value; `nil` if the path contains no key.
  public var key: String? {
    for case .key(let key) in details.path.reversed() { return key }
    return nil
  }
  /// The name of the type that was being read or written; `nil` if the type is not known.
  public var typeName: String? { details.typeName }
  /// The model version or format version of the data, if the error is about a version; otherwise `nil`.
  public var foundVersion: Int? { details.foundVersion }
  /// The version that was expected; `nil` if no specific version was expected. This is usually the newest version that this program can
  /// read. For the code `unsupportedVersion`, it is the oldest version that the model can upgrade, or, in a merge, the model version of the
  /// other data. For a failed migration step, it is the version after the step.
  public var supportedVersion: Int? { details.supportedVersion }
  /// The limit that was exceeded; `nil` if the error is not about a limit.
  public var limit: ArchiveLimits.Limit? { details.limit }
  /// The byte offset of the failure in the inflated data, or in the file if no data was inflated yet; `nil` if the position is not known.
  public var byteOffset: Int? { details.byteOffset }
  /// The error that a hook, a migration step, a `Codable` type or the operating system threw; `nil` if there is none.
  public var underlyingError: (any Error)? { details.underlying }
}

extension ArchiveError {
  /// Returns a copy of the error with changed details.
  func changed(_ change: (inout Details) -> Void) -> ArchiveError {
    var details = details
    change(&details)
    return ArchiveError(details)
  }

  /// Returns the error with a component inserted at the front of its path.
  ///
  /// - Parameter json: the corresponding components of the JSON path; `nil` if the component is the same in JSON.
  package func prefixed(by component: PathComponent, json: [PathComponent]? = nil) -> ArchiveError {
    let steps = json ?? [component]
    return changed {
      if $0.jsonPath != nil || steps != [component] { $0.jsonPath = steps + jsonPath }
      $0.path.insert(component, at: 0)
      $0.failures = failures.map { $0.prefixed(by: [component]) }
      $0.others = $0.others.map { $0.prefixed(by: component, json: json) }
    }
  }

  /// Returns the error with the name of the type that was being read, unless the error already has a type name.
  package func inType(_ name: String) -> ArchiveError {
    typeName == nil ? changed { $0.typeName = name } : self
  }
}

extension ArchiveError {
  /// Returns `error` with `component` inserted at the front of its path. An error of any other type is first wrapped in an
  /// `ArchiveError`.
  package static func at(_ component: PathComponent, _ error: any Error) -> ArchiveError {
    wrap(error).prefixed(by: component)
  }

  /// Returns `error` itself if it is an `ArchiveError`, otherwise an `ArchiveError` with `error` as its underlying error.
  package static func wrap(_ error: any Error) -> ArchiveError {
    if let known = error as? ArchiveError { return known }
    return ArchiveError(.rejected, "the type's custom code rejected the value", underlying: error)
  }

  package static func tooDeep(_ limit: Int) -> ArchiveError {
    ArchiveError(
      .limitExceeded,
      "the value is nested more than \(limit) levels deep; raise the depth limit if this depth is expected",
      limit: .depth)
  }

  package static func damaged(_ reason: String, at offset: Int) -> ArchiveError {
    ArchiveError(.damaged, reason, byteOffset: offset)
  }

  package static func mismatch(expected: String, found: String, at offset: Int? = nil) -> ArchiveError {
    ArchiveError(.typeMismatch, "the value must be \(expected); found \(found)", byteOffset: offset)
  }
}
