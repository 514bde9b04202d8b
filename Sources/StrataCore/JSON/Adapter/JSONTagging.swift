/// How JSON tells the cases of an enum with payloads apart.
///
///     extension Payment: JSONTagged {
///       static var jsonTagging: JSONTagging { .internal("type", names: ["credit_card": "card"]) }
///     }
///
/// with which `.card(number: "1")` is `{"type": "credit_card", "number": "1"}`.
public struct JSONTagging: Sendable {
  enum Form: Sendable {
    case external
    case `internal`(String)
    case adjacent(String, String)
  }

  let form: Form
  /// Spellings in JSON and the cases that they mean; the first of a case's is written.
  let names: [(tag: String, name: String)]

  /// The case as the only key, the associated values under it: `{"card": {"number": "1"}}`. What an enum has that says
  /// nothing.
  public static var external: JSONTagging { external(names: [:]) }

  /// The case as the only key, with other spellings: tags and the cases that they mean.
  public static func external(names: KeyValuePairs<String, String>) -> JSONTagging {
    JSONTagging(form: .external, names: names.map { ($0, $1) })
  }

  /// The tag among the associated values: `{"type": "card", "number": "1"}`. A case with one associated value without
  /// a label, which must be a model, has that one's keys.
  public static func `internal`(_ key: String, names: KeyValuePairs<String, String> = [:]) -> JSONTagging {
    JSONTagging(form: .internal(key), names: names.map { ($0, $1) })
  }

  /// The tag beside the associated values: `{"type": "card", "value": {"number": "1"}}`. One associated value without
  /// a label is the value itself. A field whose JSON is ``JSONField/whole`` finds both in its model's own object.
  public static func adjacent(
    _ key: String, _ content: String, names: KeyValuePairs<String, String> = [:]
  ) -> JSONTagging {
    JSONTagging(form: .adjacent(key, content), names: names.map { ($0, $1) })
  }

  /// Whether cases stand in JSON as they are archived.
  var isPlain: Bool { if case .external = form { names.isEmpty } else { false } }

  private func name(_ tag: String) -> String { names.first { $0.tag == tag }?.name ?? tag }
  private func tag(_ name: String) -> String { names.first { $0.name == name }?.tag ?? name }

  /// What is wrong with the names.
  func problem(_ schema: ModelSchema) -> ArchiveError? {
    ArchiveError.combined(
      names.filter { schema.caseName($0.name) == nil }.map {
        ArchiveError(
          .invalidMapping, "the enum has no case \($0.name), which a tag of JSON names", typeName: schema.name)
      })
  }

  // MARK: Reading

  func record(_ object: Object, _ schema: ModelSchema) throws -> ModelRecord {
    let tag: String
    let payload: Value
    switch form {
    case .external:
      guard object.count == 1, let entry = object.entries.first else {
        throw ArchiveError.mismatch(expected: "an object with the case as its only key", found: "another object")
      }
      (tag, payload) = (entry.key, entry.value)
    case .internal(let key):
      tag = try text(object[key], key)
      var rest = object
      rest[key] = nil
      payload = .object(Self.withUnlabelled(rest, .object(rest)))
    case .adjacent(let key, let content):
      tag = try text(object[key], key)
      switch object[content] {
      case nil: payload = .object(Object())
      case .object(let found)?: payload = .object(Self.withUnlabelled(found, .object(found)))
      case let found?: payload = .object(Object([.init(key: "_0", value: found)]))
      }
    }
    return ModelRecord(
      typeName: schema.name, modelVersion: schema.modelVersion, object: Object([.init(key: name(tag), value: payload)]))
  }

  private func text(_ value: Value?, _ key: String) throws -> String {
    switch value {
    case .string(let text)?: return text
    case nil: throw ArchiveError(.missingValue, "the tag of an enum is absent", path: [.key(key)])
    case let other?:
      throw ArchiveError(
        .typeMismatch, "found \(other.kind) where the tag of an enum is expected", path: [.key(key)],
        extra: .init(input: other))
    }
  }

  private static func withUnlabelled(_ labelled: Object, _ whole: Value) -> Object {
    guard labelled["_0"] == nil else { return labelled }
    var object = labelled
    object["_0"] = whole
    return object
  }

  // MARK: Writing

  func json(_ record: ModelRecord, _ schema: ModelSchema, _ composer: JSONComposer) throws -> Value {
    guard let name = record.keys.first, case .object(let payload)? = record[name] else {
      throw ArchiveError(.notEncodable, "an enum is a record of one case", typeName: schema.name)
    }
    do { return try json(tag(name), payload, composer) } catch { throw ArchiveError.at(.key(name), error) }
  }

  private func json(_ tag: String, _ payload: Object, _ composer: JSONComposer) throws -> Value {
    let single = payload.count == 1 ? payload["_0"] : nil
    switch form {
    case .external: return .object(Object([.init(key: tag, value: try composer.json(.object(payload)))]))
    case .internal(let key):
      guard case .object(let inner) = try composer.json(single ?? .object(payload)) else {
        throw ArchiveError(
          .notEncodable, "a case without labels holds no object, so the tag has no place in it; use adjacent tagging")
      }
      guard inner[key] == nil else {
        throw ArchiveError(.notEncodable, "an associated value has the key of the tag; give one of them another")
      }
      return .object(Object(uniqueEntries: [.init(key: key, value: .string(tag))] + inner.entries))
    case .adjacent(let key, let content):
      var entries = [Object.Entry(key: key, value: .string(tag))]
      if !payload.isEmpty { entries.append(.init(key: content, value: try composer.json(single ?? .object(payload)))) }
      return .object(Object(entries))
    }
  }
}

/// An enum that says how JSON tells its cases apart.
public protocol JSONTagged: VersionedModel {
  /// The form; `external` for an enum that does not conform.
  static var jsonTagging: JSONTagging { get }
}

extension ModelSchema {
  /// The case that a JSON object holds, as archives hold it.
  func caseRecord(ofJSON object: Object) throws -> ModelRecord {
    do { return try jsonTagging.record(object, self) } catch { throw ArchiveError.wrap(error).inType(name) }
  }
}
