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
  /// The tags in JSON with the names of their cases. The first tag of a case is written.
  let names: [(tag: String, name: String)]

  private init(_ position: Discriminator.TagPosition, _ names: KeyValuePairs<String, String>) {
    discriminator = Discriminator(position: position)
    self.names = names.map { ($0, $1) }
  }

  /// The case is the only key, with the associated values under it: `{"card": {"number": "1"}}`. This is the default for enums.
  public static var external: JSONTagging { external(names: [:]) }

  /// The case is the only key, with other spellings: tags and the names of their cases.
  public static func external(names: KeyValuePairs<String, String>) -> JSONTagging { JSONTagging(.onlyKey, names) }

  /// The tag is among the associated values: `{"type": "card", "number": "1"}`. If a case has one associated value
  /// without a label, which must be a model, the keys are those of the model. An object of a class has the tag before
  /// its fields. A field with the same key must hold the tag.
  public static func `internal`(_ key: String, names: KeyValuePairs<String, String> = [:]) -> JSONTagging {
    JSONTagging(.inside(ValuePath(key: key)), names)
  }

  /// The tag is beside the associated values: `{"type": "card", "value": {"number": "1"}}`. One associated value
  /// without
  /// a label is the value itself. A field whose JSON is ``JSONField/entireObject`` finds both in its model's own object.
  public static func adjacent(
    _ key: String, _ content: String, names: KeyValuePairs<String, String> = [:]
  ) -> JSONTagging { JSONTagging(.beside(key, content: content), names) }
}

/// An enum that declares how JSON identifies its cases, or a class that declares how JSON identifies its subclasses.
///
///     extension Animal: JSONTagged, ModelHierarchy {
///       static var jsonTagging: JSONTagging { .internal("kind", names: ["dog": "Dog"]) }
///       static var subclasses: [any VersionedModel.Type] { [Dog.self] }
///     }
///
/// Then a list of `Animal` keeps the class of each object in both directions. Every object of the hierarchy has a tag.
public protocol JSONTagged: VersionedModel {
  /// The form; `external` for an enum that does not conform. A class that does not conform has no tag: an object of a
  /// subclass can be written only as a whole document, and not in place of an object of the class.
  static var jsonTagging: JSONTagging { get }
}
