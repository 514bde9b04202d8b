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
  let discriminator: Discriminator
  /// Spellings in JSON and the cases that they mean; the first of a case's is written.
  let names: [(tag: String, name: String)]

  private init(_ place: Discriminator.Place, _ names: KeyValuePairs<String, String>) {
    discriminator = Discriminator(place: place)
    self.names = names.map { ($0, $1) }
  }

  /// The case as the only key, the associated values under it: `{"card": {"number": "1"}}`. What an enum has that says
  /// nothing.
  public static var external: JSONTagging { external(names: [:]) }

  /// The case as the only key, with other spellings: tags and the cases that they mean.
  public static func external(names: KeyValuePairs<String, String>) -> JSONTagging { JSONTagging(.onlyKey, names) }

  /// The tag among the associated values: `{"type": "card", "number": "1"}`. A case with one associated value without
  /// a label, which must be a model, has that one's keys. An object of a class has the tag before its fields; where a field
  /// is at the key itself, it must hold the tag.
  public static func `internal`(_ key: String, names: KeyValuePairs<String, String> = [:]) -> JSONTagging {
    JSONTagging(.inside(JSONPath(key: key)), names)
  }

  /// The tag beside the associated values: `{"type": "card", "value": {"number": "1"}}`. One associated value without
  /// a label is the value itself. A field whose JSON is ``JSONField/entireObject`` finds both in its model's own object.
  public static func adjacent(
    _ key: String, _ content: String, names: KeyValuePairs<String, String> = [:]
  ) -> JSONTagging { JSONTagging(.beside(key, content: content), names) }
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
