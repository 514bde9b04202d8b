/// How JSON identifies the cases of an enum with payloads, or the class of an object.
///
///     extension Payment: JSONTagged {
///       static var jsonTagging: JSONTagging { .internal("type", names: ["credit_card": "card"]) }
///     }
///
/// With this declaration, `.card(number: "1")` is `{"type": "credit_card", "number": "1"}`.
///
/// A class uses the form ``internal(_:names:)``, with names of classes instead of cases.
public struct JSONTagging: Sendable {
  let discriminator: Discriminator
  /// The tags in JSON, with the names of their cases. If a case has several tags, the first one is written.
  let names: [(tag: String, name: String)]

  private init(_ position: Discriminator.TagPosition, _ names: KeyValuePairs<String, String>) {
    discriminator = Discriminator(position: position)
    self.names = names.map { ($0, $1) }
  }

  /// The tag is the only key, and its value contains the associated values: `{"card": {"number": "1"}}`. This is the default for enums.
  public static var external: JSONTagging { external(names: [:]) }

  /// The tag is the only key, as in ``external``, but tags may differ from the names of their cases. `names` maps each tag to the name of a
  /// case.
  public static func external(names: KeyValuePairs<String, String>) -> JSONTagging { JSONTagging(.onlyKey, names) }

  /// The tag is a member next to the associated values: `{"type": "card", "number": "1"}`. A single associated value without a label must
  /// be a model, and the keys of the model are next to the tag. For an object of a class, the tag precedes the fields. If a field has the
  /// same key as the tag, the value of the field must be the tag.
  public static func `internal`(_ key: String, names: KeyValuePairs<String, String> = [:]) -> JSONTagging {
    JSONTagging(.inside(ValuePath(key: key)), names)
  }

  /// The tag is next to a member with the associated values: `{"type": "card", "value": {"number": "1"}}`. A single associated value
  /// without a label is itself the value of that member. If a field of the enum's type is mapped to ``JSONField/entireObject``, both
  /// members are read from the JSON object of the model that declares the field.
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
/// Writing and reading an array of `Animal` then preserves the class of each object. In JSON, every object of the hierarchy has a tag.
public protocol JSONTagged: VersionedModel {
  /// Specifies how the tags are written. An enum that does not conform to ``JSONTagged`` uses `external`. Objects of a class that does not
  /// conform have no tag, so an object of a subclass can be written only as a whole document. It cannot be written as a nested object where
  /// the superclass is expected.
  static var jsonTagging: JSONTagging { get }
}

extension _Strata {
  public static func jsonTagged<T: JSONTagged>(_ type: T.Type) -> T.Type { type }

  @available(
    *, unavailable,
    message: "'jsonTagging' is used only if the type conforms to JSONTagged; add JSONTagged"
  )
  public static func jsonTagged<T>(_ type: T.Type) -> T.Type { type }
}
