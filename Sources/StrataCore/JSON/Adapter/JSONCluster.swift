public import Foundation

/// Reads and writes several types of objects as one common type (a class cluster).
///
///     let shapes = try JSONCluster<any Shape>(
///       by: .key("type"),
///       .model("circle", JSONAdapter<Circle>()) { $0 },
///       .model("square", JSONAdapter<Square>()) { $0 })
///     let shape = try shapes.decode(data)
///
/// The common type does not need to know the variants. Each variant is written with its own mapping, with its tag first.
public struct JSONCluster<Result>: Sendable {
  /// How to handle a document if no variant has its tag. A nested cluster has its own setting.
  public enum Unknown: Sendable {
    /// Reading throws ``ArchiveError`` with the code `unknownCase`.
    case fail
    /// The variant with the given tag reads the document. It also reads documents that have no tag.
    case fallback(String)
    /// Arrays skip the document. Outside of an array, reading throws.
    ///
    /// If the tag is unknown to a nested cluster, arrays skip the document only if all enclosing clusters also use `skip`.
    case skip
  }

  private let discriminator: Discriminator
  private let variants: [JSONVariant<Result>]
  private let unknown: Unknown
  private let identity = Identity()

  /// The identity of a cluster, used to detect a cluster that passes a document to itself.
  private final class Identity: Sendable {}

  /// Creates a cluster of variants.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidMapping` if two variants have the same tag, if there are no variants, if the fallback
  ///   is not the tag of a variant, or if the discriminator cannot hold a tag.
  public init(
    by discriminator: Discriminator, unknown: Unknown = .fail, _ variants: JSONVariant<Result>...
  ) throws {
    self.discriminator = discriminator
    self.variants = variants
    self.unknown = unknown
    var problems: [String] = []
    var tags = Set<String>()
    for variant in variants where !tags.insert(variant.tag).inserted {
      problems.append("two variants have the tag \(variant.tag); use a different tag for each variant")
    }
    if variants.isEmpty { problems.append("the cluster has no variants; add at least one variant") }
    if case .fallback(let tag) = unknown, !tags.contains(tag) {
      problems.append("the fallback \(tag) is not the tag of a variant; specify the tag of one of the variants")
    }
    problems += discriminator.problems
    if let error = ArchiveError.combined(problems.map { ArchiveError(.invalidMapping, $0) }) { throw error }
  }

  // MARK: Reading

  /// Reads a document with the variant for the document's tag.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` if the text is not JSON, or if an object in it has a duplicate key;
  ///   `missingValue` if there is no tag; `unknownCase` if no variant has the tag; `invalidMapping` if clusters pass the document to each
  ///   other in a cycle; and any error that the variant throws.
  public func decode(_ json: Data) throws -> Result { try reader.withValue(of: json, decode) }

  /// Reads a document that is already parsed.
  public func decode(_ json: ArchiveValue) throws -> Result { try decode(json, []).get() }

  /// Reads an array of documents, in the given order. Each document may be read by a different variant.
  ///
  /// - Parameters:
  ///   - json: the text, in UTF-8.
  ///   - onInvalid: called with the error of each element that cannot be read. The path of the error begins with the index, and the element
  ///     is skipped. Without this closure, elements with unknown tags are skipped if the cluster skips them, and any other error is thrown.
  public func decodeArray(_ json: Data, onInvalid: ((ArchiveError) -> Void)? = nil) throws -> [Result] {
    try reader.withValue(of: json) { try decodeArray($0, onInvalid: onInvalid) }
  }

  /// Reads an array that is already parsed.
  public func decodeArray(_ json: ArchiveValue, onInvalid: ((ArchiveError) -> Void)? = nil) throws -> [Result] {
    guard case .array(let elements) = json else {
      throw ArchiveError.mismatch(expected: "an array", found: json.kind).about(json)
    }
    return try elements.results { element in
      let decoded = try decode(element, [])
      if case .failure = decoded, onInvalid == nil { return nil }
      return try decoded.get()
    } failed: { error in
      guard let onInvalid else { throw error }
      onInvalid(error)
    }
    .compactMap { $0 }
  }

  private var reader: JSONReader { .refusingDuplicates() }

  /// The result of reading a document. A failure means that the tag is unknown and that the cluster skips unknown tags. All other errors
  /// are thrown.
  typealias Decoded = Swift.Result<Result, ArchiveError>

  /// Reads a document with the variant for its tag.
  ///
  /// - Parameter seen: the outer clusters that have passed the document on to this cluster. They are used to detect cycles.
  func decode(_ json: ArchiveValue, _ seen: [ObjectIdentifier]) throws -> Decoded {
    guard let seen = adding(to: seen) else {
      throw ArchiveError(
        .invalidMapping,
        "the nested clusters pass the document to each other in an endless cycle, or are nested more than 64 levels deep; "
          + "remove the variant that refers back to an outer cluster")
    }
    guard case .object(let object) = json else {
      throw ArchiveError.mismatch(expected: "an object", found: json.kind).about(json)
    }
    var path: [ArchiveError.PathComponent] = []
    do {
      let parts = try discriminator.parts(of: object)
      guard let variant = try variant(parts.tag?.tagText) else {
        let error = unknownTag(json)
        return try passed(.failure(error))
      }
      if variant.readsDocument { return try passed(variant.decode(json, seen)) }
      path = parts.path
      guard let content = parts.content else {
        throw ArchiveError(.missingValue, "the document has a tag but no content")
      }
      return try passed(variant.decode(content, seen))
    } catch { throw ArchiveError.wrap(error).prefixed(by: path) }
  }

  /// If `decoded` is the failure for an unknown tag in this cluster or a nested one, throws that error unless this cluster skips such
  /// documents. Otherwise, returns `decoded`.
  private func passed(_ decoded: Decoded) throws -> Decoded {
    if case .failure(let error) = decoded { guard case .skip = unknown else { throw error } }
    return decoded
  }

  /// Returns the variant that has the tag, or the fallback variant if no variant has it; `nil` if there is no fallback variant. Throws an
  /// error if the document has no tag and the cluster has no fallback variant.
  private func variant(_ tag: String?) throws -> JSONVariant<Result>? {
    var names = [tag]
    if case .fallback(let name) = unknown { names.append(name) }
    for name in names { if let variant = variants.first(where: { $0.tag == name }) { return variant } }
    guard tag == nil else { return nil }
    throw ArchiveError(
      .missingValue, "the document has no tag that identifies its type", jsonPath: discriminator.components)
  }

  private func unknownTag(_ json: ArchiveValue) -> ArchiveError {
    ArchiveError(
      .unknownCase,
      "the tag of the document is unknown; the known tags are \(variants.map(\.tag).joined(separator: ", "))",
      jsonPath: discriminator.components, input: json)
  }

  /// Returns `seen` followed by this cluster; `nil` if `seen` already contains this cluster. Also returns `nil` after 64 clusters, because
  /// a variant may create a new cluster for each document, and a cycle of new clusters cannot be detected by their identity.
  private func adding(to seen: [ObjectIdentifier]) -> [ObjectIdentifier]? {
    seen.contains(ObjectIdentifier(identity)) || seen.count >= 64 ? nil : seen + [ObjectIdentifier(identity)]
  }

  // MARK: Writing

  /// Returns the JSON text of an object, written by the mapping of its type.
  ///
  /// - Throws: ``ArchiveError`` with the code `notEncodable` if no variant has the object's type, or if the object's own mapping has
  ///   written a different value where the tag belongs.
  public func encode(_ result: Result, isPretty: Bool = false) throws -> Data {
    try JSONWriter(isPretty: isPretty).write(encodeValue(result))
  }

  /// Returns the JSON of an object as an ``ArchiveValue``.
  public func encodeValue(_ result: Result) throws -> ArchiveValue {
    guard let value = try encoded(result, []) else {
      throw ArchiveError(
        .notEncodable, "the cluster has no variant for the type \(type(of: result as Any)); add a variant for the type")
    }
    return value
  }

  /// Returns the JSON text of an array of objects, in the given order. Each object may be written by a different variant.
  public func encodeArray(_ results: [Result], isPretty: Bool = false) throws -> Data {
    try JSONWriter(isPretty: isPretty).write(.array(results.results(of: encodeValue)))
  }

  func encoded(_ result: Result, _ seen: [ObjectIdentifier]) throws -> ArchiveValue? {
    guard let seen = adding(to: seen) else { return nil }
    for variant in variants {
      guard let value = try variant.encode(result, seen) else { continue }
      let discriminator = variant.readsDocument ? discriminator.besideAll : discriminator
      return try discriminator.tagged(value, variant.tag)
    }
    return nil
  }
}
