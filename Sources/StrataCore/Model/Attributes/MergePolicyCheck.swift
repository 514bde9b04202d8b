import Foundation

/// Finds merge policies that do not suit the type of their field.
///
/// A policy is reported only if it is certain not to apply. Fields whose type has its own coding are not checked,
/// because their content is unknown.
enum MergePolicyCheck {
  /// Returns all mistakes in the policies of the fields and in the type's merge rules, as one error; `nil` if there are
  /// none.
  ///
  /// The check reads the schemas of other models. Do not call this function while a schema is being created, because
  /// models that contain each other would deadlock.
  static func problem(of schema: ModelSchema) -> ArchiveError? {
    var errors: [ArchiveError] = []
    func add(_ path: [ArchiveError.PathComponent], _ reason: String) {
      errors.append(ArchiveError(.invalidSchema, reason, path: path, typeName: schema.name))
    }
    // Fields without a policy are skipped, because they need no check and finding the kind of a type is slow.
    for field in schema.fields where !field.merge.isAutomatic {
      for policy in field.merge.parts {
        guard let reason = misfit(of: policy, MergeKind(field.type), schema) else { continue }
        add([.key(field.key)], "the policy \(policy) \(reason)")
      }
    }
    guard let rules = schema.mergeTraits.rules else { return ArchiveError.combined(errors) }
    if let identity = rules.identity, !identity.keys.allSatisfy(schema.allKeys.contains) {
      add([], "the merge rules use the identity \(identity), \(absence(of: schema))")
    }
    for policy in rules.policy.parts where !policy.isAutomatic {
      guard let reason = misfit(ofDefault: policy, schema) else { continue }
      add([], "the default policy \(policy) \(reason)")
    }
    return ArchiveError.combined(errors)
  }

  /// Returns the reason why a part of a model's default policy cannot be used, with a suggested fix; `nil` if it can be used. Fields of
  /// different types share the default policy, so each of its ``MergePolicy/parts`` only has to apply to one of these fields.
  private static func misfit(ofDefault policy: MergePolicy, _ schema: ModelSchema) -> String? {
    if case .lastWriter = policy.rule { return misfit(of: policy, MergeKind(ArchiveValue.self), schema) }
    let kinds = schema.fields.filter(\.merge.isAutomatic).map { MergeKind($0.type) }
    // The default policy of a class is not checked, because subclasses may declare fields that the policy applies to.
    guard !schema.isObject, !kinds.isEmpty, kinds.allSatisfy({ misfit(of: policy, $0, schema) != nil }) else {
      return nil
    }
    return "applies only to \(subject(of: policy)), but no field that uses the default contains such values; remove "
      + "the policy, or use a policy that applies to one of the fields"
  }

  /// Returns the reason why a policy cannot apply to a field, with a suggested fix; `nil` if the policy can apply.
  private static func misfit(of policy: MergePolicy, _ kind: MergeKind, _ schema: ModelSchema) -> String? {
    switch (policy.rule, kind.shape) {
    case (.lastWriter(let key), _):
      // An undeclared key is accepted, because an enclosing model may declare the time field that the policy uses.
      guard let time = schema.fields.first(where: { $0.key == key }), !MergeKind(time.type).isOrdered
      else { return nil }
      return "compares the values of \(key), but the type \(name(of: time.type)) has no order; specify the key of a "
        + "date, a number or a string"
    case _ where kind.isUnknown: return nil
    case (.byID(let key, _), .array(let element)), (.byID(let key, _), .set(let element)):
      return misfit(ofElements: element, key)
    case (.byID, .dictionary(_, let values)):
      switch MergeKind(values).shape {
      case .array, .set, .dictionary: return misfit(of: policy, MergeKind(values), schema)
      case .scalar, .optional, .rawValue, .model, .untyped, .opaque: break
      }
      return "applies only to \(subject(of: policy)), but the field contains \(kind); \(advice(kind))"
    case (.recursive, .model(let type)) where type.schema.isEnumeration:
      return "merges fields, but the enum \(type.schema.name) has no fields; \(advice(kind))"
    case (.recursive, .model), (.recursive, .dictionary): return nil
    case (.maximum, _) where kind.isOrdered, (.minimum, _) where kind.isOrdered: return nil
    case (.sumOfDeltas, .scalar) where kind.isNumber: return nil
    case (.union, .array), (.union, .set), (.addWins, .array), (.addWins, .set): return nil
    case (.append, .array), (.append, .scalar(.string)), (.lines, .scalar(.string)): return nil
    case (.automatic, _), (.conflict, _), (.server, _), (.local, _), (.keepLocal, _), (.custom, _), (.resolver, _):
      return nil
    default: return "applies only to \(subject(of: policy)), but the field contains \(kind); \(advice(kind))"
    }
  }

  /// Returns the reason why a key cannot identify the elements of a collection; `nil` if the key can identify them.
  private static func misfit(ofElements element: Any.Type, _ key: IdentityKey) -> String? {
    let kind = MergeKind(element)
    switch kind.shape {
    case _ where kind.isUnknown: return nil
    case .model(let type):
      guard !key.keys.allSatisfy(type.schema.allKeys.contains) else { return nil }
      return "identifies elements by \(key), \(absence(of: type.schema))"
    // A dictionary with string keys is accepted, because it may contain the identifying key. Such dictionaries often
    // represent JSON objects.
    case .dictionary(let keys, _) where MergeKind(keys).isText: return nil
    case .array(let inner), .set(let inner): return misfit(ofElements: inner, key)
    default:
      return "identifies models by \(key), but the elements have the type \(name(of: element)); use union, "
        + "addWins or append"
    }
  }

  private static func absence(of schema: ModelSchema) -> String {
    guard !schema.isEnumeration else { return "but the enum \(schema.name) has no keys" }
    let keys = schema.allKeys.isEmpty ? "it has no keys" : "its keys are \(schema.allKeys.joined(separator: ", "))"
    return "which \(schema.name) does not declare; \(keys)"
  }

  private static func subject(of policy: MergePolicy) -> String {
    switch policy.rule {
    case .byID: "arrays and sets of models"
    case .recursive: "models and dictionaries"
    case .maximum, .minimum: "numbers, booleans, dates and strings"
    case .sumOfDeltas: "numbers"
    case .union, .addWins: "arrays and sets"
    case .append: "arrays and strings"
    case .lines: "strings"
    default: "other types of values"
    }
  }

  private static func advice(_ kind: MergeKind) -> String {
    let general = "a policy that applies to every type, such as serverWins"
    return kind.fitting.map { "use \($0) or \(general)" } ?? "use \(general)"
  }

  fileprivate static func name(of type: Any.Type) -> String {
    TypeShape.archivable(type)?._archiveTypeName ?? "\(type)"
  }
}

/// The type of a field, reduced to what matters for merge policies. An optional is replaced with its wrapped type, and an archivable type
/// with a raw value is replaced with the type of the raw value.
private struct MergeKind: CustomStringConvertible {
  let type: Any.Type
  let shape: TypeShape.Kind

  init(_ type: Any.Type) {
    let shape = TypeShape(of: type).kind
    switch shape {
    case .optional(let wrapped): self = MergeKind(wrapped)
    case .rawValue(let raw, isArchivable: true) where TypeShape.archivable(raw) != nil: self = MergeKind(raw)
    case .rawValue, .scalar, .untyped, .array, .set, .dictionary, .model, .opaque:
      self.init(type: type, shape: shape)
    }
  }

  private init(type: Any.Type, shape: TypeShape.Kind) { (self.type, self.shape) = (type, shape) }

  /// Whether policies cannot be checked for this type, because it has its own coding or can contain any value.
  var isUnknown: Bool {
    switch shape {
    case .untyped, .opaque, .rawValue: true
    case .scalar, .optional, .array, .set, .dictionary, .model: false
    }
  }

  var isNumber: Bool {
    guard case .scalar(let scalar) = shape else { return false }
    switch scalar {
    case .integer, .float, .double, .otherFloat, .decimal: return true
    case .bool, .string, .data, .date, .url, .uuid: return false
    }
  }

  var isText: Bool {
    if case .scalar(.string) = shape { true } else { isUnknown }
  }

  var isOrdered: Bool {
    guard case .scalar(let scalar) = shape else { return isUnknown }
    switch scalar {
    case .bool, .integer, .float, .double, .otherFloat, .decimal, .string, .date: return true
    case .data, .url, .uuid: return false
    }
  }

  /// The names of the policies to suggest for this kind of value in error messages; `nil` if there are none.
  var fitting: String? {
    switch shape {
    case .scalar(.string): "max, min, append, lines"
    case .scalar: isNumber ? "max, min, sumOfDeltas" : isOrdered ? "max, min" : nil
    case .array: "union, addWins, append"
    case .set: "union, addWins"
    case .dictionary: "recursive"
    case .model(let type): type.schema.isEnumeration ? nil : "recursive"
    case .untyped, .opaque, .rawValue, .optional: nil
    }
  }

  var description: String {
    switch shape {
    case .scalar: MergePolicyCheck.name(of: type)
    case .array(let element): "an array of \(MergePolicyCheck.name(of: element))"
    case .set(let element): "a set of \(MergePolicyCheck.name(of: element))"
    case .dictionary: "a dictionary"
    case .model(let type): "the model \(type.schema.name)"
    case .untyped, .opaque, .rawValue, .optional: "a value"
    }
  }
}

extension MergePolicy {
  /// The policies from which this policy was composed with ``ifPresent`` and ``orElse(_:)``. For a policy that is not composed, the array
  /// contains only the policy itself.
  fileprivate var parts: [MergePolicy] {
    switch rule {
    case .ifPresent(let policy): policy.parts
    case .orElse(let policy, let other): policy.parts + other.parts
    default: [self]
    }
  }
}
