/// How JSON identifies the cases of an enum with payloads, or the class of an object.
///
///     extension Payment: JSONTagged {
///       static var jsonTagging: JSONTagging { .internal("type", names: ["credit_card": "card"]) }
///     }
///
/// with which `.card(number: "1")` is `{"type": "credit_card", "number": "1"}`.
///
/// A class has the form ``internal(_:names:)``, with names of classes in place of cases.
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
  /// a label, which must be a model, has that one's keys. An object of a class has the tag before its fields; where a field
  /// is at the key itself, it must hold the tag.
  public static func `internal`(_ key: String, names: KeyValuePairs<String, String> = [:]) -> JSONTagging {
    JSONTagging(form: .internal(key), names: names.map { ($0, $1) })
  }

  /// The tag beside the associated values: `{"type": "card", "value": {"number": "1"}}`. One associated value without
  /// a label is the value itself. A field whose JSON is ``JSONField/entireObject`` finds both in its model's own object.
  public static func adjacent(
    _ key: String, _ content: String, names: KeyValuePairs<String, String> = [:]
  ) -> JSONTagging {
    JSONTagging(form: .adjacent(key, content), names: names.map { ($0, $1) })
  }

  private func name(_ tag: String) -> String { names.first { $0.tag == tag }?.name ?? tag }
  private func tag(_ name: String) -> String { names.first { $0.name == name }?.tag ?? name }

  /// What is wrong with the names: cases that the enum does not have, and tags that two cases are written as.
  func problem(_ schema: ModelSchema) -> ArchiveError? {
    var problems: [String] = []
    for (tag, name) in names {
      guard let named = schema.caseName(name) else {
        problems.append("the enum has no case \(name), which a tag of JSON names")
        continue
      }
      let meant = self.name(tag)
      if schema.caseName(meant) != named {
        problems.append("the tag \(tag) is given to two cases, \(meant) and \(name); give one of them another")
      }
      if let other = schema.cases.map(\.name).first(where: { $0 == tag && $0 != named && self.tag($0) == tag }) {
        problems.append(
          "the tag \(tag) of \(name) is what the case \(other) is written as; give \(other) a tag of its own")
      }
    }
    return ArchiveError.combined(problems.map { ArchiveError(.invalidMapping, $0, typeName: schema.name) })
  }

  // MARK: Reading

  /// The case that an object holds.
  struct Found {
    /// The record of the case, as archives hold it.
    let record: ModelRecord
    /// The keys from the object to the associated values.
    let path: [ArchiveError.PathComponent]
    /// Whether the associated value without a label is the value at that path, and no member of it.
    let isWhole: Bool
  }

  func found(in object: ArchiveObject, _ schema: ModelSchema) throws -> Found {
    let tag: String
    let payload: ArchiveValue
    var path: [ArchiveError.PathComponent] = []
    var isWhole = false
    switch form {
    case .external:
      guard object.count == 1, let entry = object.entries.first else {
        throw ArchiveError.mismatch(expected: "an object with the case as its only key", found: "another object")
      }
      (tag, payload, path) = (entry.key, entry.value, [.key(entry.key)])
    case .internal(let key):
      tag = try text(object[key], key)
      var rest = object
      rest[key] = nil
      isWhole = rest["_0"] == nil
      payload = .object(Self.withUnlabelled(rest))
    case .adjacent(let key, let content):
      tag = try text(object[key], key)
      path = [.key(content)]
      isWhole = true
      switch object[content] {
      case nil: payload = .object(ArchiveObject())
      case .object(let found)?:
        isWhole = found["_0"] == nil
        payload = .object(Self.withUnlabelled(found))
      case let found?: payload = .object(ArchiveObject([.init(key: "_0", value: found)]))
      }
    }
    let record = ModelRecord(
      typeName: schema.name, modelVersion: schema.modelVersion,
      object: ArchiveObject([.init(key: name(tag), value: payload)]))
    return Found(record: record, path: path, isWhole: isWhole)
  }

  private func text(_ value: ArchiveValue?, _ key: String) throws -> String {
    switch value {
    case .string(let text)?: return text
    case nil: throw ArchiveError(.missingValue, "the tag of an enum is absent", path: [.key(key)])
    case let other?:
      throw ArchiveError(
        .typeMismatch, "found \(other.kind) where the tag of an enum is expected", path: [.key(key)],
        extra: .init(input: other))
    }
  }

  private static func withUnlabelled(_ labelled: ArchiveObject) -> ArchiveObject {
    guard labelled["_0"] == nil else { return labelled }
    var object = labelled
    object["_0"] = .object(labelled)
    return object
  }

  // MARK: Writing

  /// How a case is written.
  struct Tag {
    /// The case, for the paths of errors; `nil` for a class.
    let name: String?
    /// The member that names the case, before all others; `nil` where the case is a key.
    let member: (key: String, tag: String)?
    /// Whether the values are under one key, the case or another, and not among the members.
    let isAround: Bool
  }

  /// The tag of a case, and an object or a record with the other members of what it becomes.
  func written(_ record: ModelRecord) throws -> (Tag, ArchiveValue) {
    guard let name = record.keys.first, case .object(let payload)? = record[name] else {
      throw ArchiveError(.notEncodable, "an enum is a record of one case", typeName: record.typeName)
    }
    let single = payload.count == 1 ? payload["_0"] : nil
    let tag = tag(name)
    switch form {
    case .external:
      return (Tag(name: name, member: nil, isAround: true), .object([tag: .object(payload)]))
    case .internal(let key):
      return (Tag(name: name, member: (key, tag), isAround: false), single ?? .object(payload))
    case .adjacent(let key, let content):
      let inside = payload.isEmpty ? ArchiveObject() : [content: single ?? .object(payload)]
      return (Tag(name: name, member: (key, tag), isAround: true), .object(inside))
    }
  }

  /// The same unless cases are in JSON as they are archived.
  var ifNotPlain: JSONTagging? { if case .external = form, names.isEmpty { nil } else { self } }
}

/// An enum that says how JSON identifies its cases, or a class that says how it identifies its subclasses.
///
///     extension Animal: JSONTagged, ModelHierarchy {
///       static var jsonTagging: JSONTagging { .internal("kind", names: ["dog": "Dog"]) }
///       static var subclasses: [any VersionedModel.Type] { [Dog.self] }
///     }
///
/// with which a list of `Animal` has each object in its own class, both ways. Every object of the hierarchy has a tag then.
public protocol JSONTagged: VersionedModel {
  /// The form; `external` for an enum that does not conform. A class that does not conform has no tag: an object of a
  /// subclass is written as a document of its own only, and not in the place of one of the class.
  static var jsonTagging: JSONTagging { get }
}

extension ModelSchema {
  /// The case that a JSON object holds.
  func jsonCase(in object: ArchiveObject) throws -> JSONTagging.Found {
    do { return try jsonTagging().found(in: object, self) } catch { throw ArchiveError.wrap(error).inType(name) }
  }
}
