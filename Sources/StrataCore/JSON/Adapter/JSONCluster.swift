public import Foundation

/// Reads documents of several kinds, and writes objects of several types, as one: a class cluster.
///
///     let shapes = try JSONCluster<any Shape>(
///       by: .key("type"),
///       .model("circle", JSONAdapter<Circle>()) { $0 },
///       .model("square", JSONAdapter<Square>()) { $0 })
///     let shape = try shapes.decode(data)
///
/// The common type knows nothing of the variants. Each is written by its own mapping, with its tag first.
public struct JSONCluster<Result>: Sendable {
  /// What a tag means that no variant has.
  public enum Unknown: Sendable {
    /// Reading throws ``ArchiveError`` with the code `unknownCase`.
    case fail
    /// The variant with this tag reads the document.
    case fallback(String)
    /// Arrays leave it out; a document of its own fails.
    case skip
  }

  private let discriminator: Discriminator
  private let variants: [JSONVariant<Result>]
  private let unknown: Unknown
  private let identity = Identity()

  /// Identifies clusters, so that one that sends a document to itself is found.
  private final class Identity: Sendable {}

  /// A cluster of variants.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidMapping` where a tag is a duplicate, where there is no variant,
  ///   where the fallback is none of them, or where the discriminator names no place of its own for a tag.
  public init(
    by discriminator: Discriminator, unknown: Unknown = .fail, _ variants: JSONVariant<Result>...
  ) throws {
    self.discriminator = discriminator
    self.variants = variants
    self.unknown = unknown
    var errors: [ArchiveError] = []
    var tags = Set<String>()
    for variant in variants where !tags.insert(variant.tag).inserted {
      errors.append(Self.invalid("two variants have the tag \(variant.tag)"))
    }
    if variants.isEmpty { errors.append(Self.invalid("a cluster has no variants")) }
    if case .fallback(let tag) = unknown, !tags.contains(tag) {
      errors.append(Self.invalid("the fallback \(tag) is none of the variants"))
    }
    if let path = discriminator.path {
      if path.readsEach { errors.append(Self.invalid("a tag is one text, and the path \(path) leads to several")) }
      if discriminator.content.map({ JSONPath(key: $0) }) == path {
        errors.append(Self.invalid("the tag and the content have one key, \(path); give them two"))
      }
    }
    if let error = ArchiveError.combined(errors) { throw error }
  }

  // MARK: Reading

  /// Reads a document with the variant that its tag names.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` where the text is no JSON, or an object in it has a key twice;
  ///   with the code `missingValue` where there is no tag, `unknownCase` where no variant has
  ///   it, `invalidMapping` where clusters send the document to each other without end, and what the variant throws.
  public func decode(_ json: Data) throws -> Result { try Self.withValue(of: json) { try decode($0) } }

  /// Reads a document that was parsed before.
  public func decode(_ json: ArchiveValue) throws -> Result { try decode(json, seen: []) }

  /// Reads an array of documents of any kinds, in its order.
  public func decodeArray(_ json: Data) throws -> [Result] {
    try Self.withValue(of: json) { try decodeArray($0) }
  }

  /// Reads an array that was parsed before. Unknown tags are left out where the cluster skips them; any other error is
  /// thrown.
  public func decodeArray(_ json: ArchiveValue) throws -> [Result] {
    try elements(json) { index, error in
      guard case .skip = unknown, error.code == .unknownCase, error.codingPath.count == 1 else { throw error }
    }
  }

  /// Reads an array and skips elements that cannot be read, which the report lists.
  public func decodeArray(_ json: ArchiveValue, report: inout JSONArrayReport) throws -> [Result] {
    var failures: [ArchiveError] = []
    let results = try elements(json) { _, error in failures.append(error) }
    report = JSONArrayReport(count: results.count + failures.count, failures: failures)
    return results
  }

  /// Calls `body` with what a text holds. An error that it throws is given its place in the text.
  private static func withValue<R>(of json: Data, _ body: (ArchiveValue) throws -> R) throws -> R {
    let reader = JSONReader.refusingDuplicates()
    let value = try reader.read(json)
    do { return try body(value) } catch { throw reader.located(error, in: json) }
  }

  private func elements(_ json: ArchiveValue, _ failed: (Int, ArchiveError) throws -> Void) throws -> [Result] {
    guard case .array(let elements) = json else {
      throw ArchiveError.mismatch(expected: "an array", found: json.kind).about(json)
    }
    var results: [Result] = []
    for (index, element) in elements.enumerated() {
      do { results.append(try decode(element)) } catch { try failed(index, ArchiveError.at(.index(index), error)) }
    }
    return results
  }

  private func decode(_ json: ArchiveValue, seen: [ObjectIdentifier]) throws -> Result {
    let variant = try variant(of: json)
    switch variant.body {
    case .model(let decode, _):
      guard let content = discriminator.content else { return try decode(json) }
      guard let inner = json[content] else {
        throw ArchiveError(.missingValue, "the content beside the tag is absent", path: [.key(content)])
      }
      do { return try decode(inner) } catch { throw ArchiveError.at(.key(content), error) }
    case .cluster(let make):
      let next = try make()
      let seen = seen + [ObjectIdentifier(identity)]
      guard !seen.contains(ObjectIdentifier(next.identity)), seen.count < 64 else {
        throw Self.invalid("clusters send a document to each other without end")
      }
      return try next.decode(json, seen: seen)
    }
  }

  private func variant(of json: ArchiveValue) throws -> JSONVariant<Result> {
    guard case .object = json else {
      throw ArchiveError.mismatch(expected: "an object", found: json.kind).about(json)
    }
    let tag: String?
    do { tag = try discriminator.tag(json) } catch { throw ArchiveError.wrap(error) }
    if let variant = variants.first(where: { $0.tag == tag }) { return variant }
    if case .fallback(let name) = unknown, let variant = variants.first(where: { $0.tag == name }) { return variant }
    let path = discriminator.path?.components ?? []
    guard tag != nil else {
      throw ArchiveError(.missingValue, "the document has no tag that names its kind", extra: .init(jsonPath: path))
    }
    throw ArchiveError(
      .unknownCase, "the tag of the document is none of \(variants.map(\.tag).joined(separator: ", "))",
      extra: .init(jsonPath: path, input: json))
  }

  // MARK: Writing

  /// The JSON text of an object, by the mapping of its own type.
  ///
  /// - Throws: ``ArchiveError`` with the code `notEncodable` where no variant has the object's type, or where its own
  ///   mapping has put something else where the tag belongs.
  public func encode(_ result: Result, isPretty: Bool = false) throws -> Data {
    try JSONWriter(isPretty: isPretty).write(encodeValue(result))
  }

  /// JSON of an object as a value.
  public func encodeValue(_ result: Result) throws -> ArchiveValue {
    guard let value = try encoded(result, seen: []) else {
      throw ArchiveError(
        .notEncodable, "no variant has the type \(type(of: result as Any)); add it to the cluster")
    }
    return value
  }

  /// The JSON text of objects of any variants, in their order.
  public func encodeArray(_ results: [Result], isPretty: Bool = false) throws -> Data {
    let values = try results.enumerated().map { index, result in
      do { return try encodeValue(result) } catch { throw ArchiveError.at(.index(index), error) }
    }
    return try JSONWriter(isPretty: isPretty).write(.array(values))
  }

  private func encoded(_ result: Result, seen: [ObjectIdentifier]) throws -> ArchiveValue? {
    let seen = seen + [ObjectIdentifier(identity)]
    for variant in variants {
      switch variant.body {
      case .model(_, let encode):
        if let value = try encode(result) { return try tagged(value, variant.tag) }
      case .cluster(let make):
        let next = try make()
        guard !seen.contains(ObjectIdentifier(next.identity)), seen.count < 64 else { continue }
        if let value = try next.encoded(result, seen: seen) { return try tagged(value, variant.tag) }
      }
    }
    return nil
  }

  private func tagged(_ value: ArchiveValue, _ tag: String) throws -> ArchiveValue {
    guard let path = discriminator.path else { return value }
    if let content = discriminator.content, case .key(let key)? = path.steps.first {
      return .object(ArchiveObject([.init(key: key, value: .string(tag)), .init(key: content, value: value)]))
    }
    // The variant's own mapping may hold the tag as a field, spelled in its own way.
    if let known = try discriminator.tag(value) {
      guard known == tag else {
        throw ArchiveError(
          .notEncodable, "the variant has another tag than its own; set the field, or leave it to the cluster",
          path: path.components)
      }
      return value
    }
    return try Self.tagged(value, tag, at: path.components[...], path)
  }

  /// An object with the tag in it, first among what is beside it and beside each container on the way. Nothing that the
  /// variant has written is replaced.
  private static func tagged(
    _ value: ArchiveValue?, _ tag: String, at steps: ArraySlice<ArchiveError.PathComponent>, _ path: JSONPath
  ) throws -> ArchiveValue {
    guard let step = steps.first else {
      guard value == nil else { throw noPlace("the variant has another value where the tag belongs", path) }
      return .string(tag)
    }
    if let value, !value.takes(step) {
      throw noPlace("a variant has \(value.kind) on the way to its tag, which has no place in it", path)
    }
    var result = try value ?? ArchiveValue.container(.null, for: step)
    let inner = try tagged(result[step], tag, at: steps.dropFirst(), path)
    if case .key(let key) = step, case .object(let object) = result {
      let others = object.entries.filter { !ExactKey.isSame($0.key, key) }
      return .object(ArchiveObject(uniqueEntries: [.init(key: key, value: inner)] + others))
    }
    try result.set(inner, at: [step])
    return result
  }

  private static func noPlace(_ reason: String, _ path: JSONPath) -> ArchiveError {
    ArchiveError(.notEncodable, reason + "; map the field elsewhere, or choose another place for the tag").prefixed(
      by: path.components)
  }

  private static func invalid(_ reason: String) -> ArchiveError { ArchiveError(.invalidMapping, reason) }
}
