/// A model with validation rules.
///
///     extension Issue: Validating {
///       static let validation = Validation<Issue>(
///         .check("id", \.id, .range(1...)),
///         .check("title", \.title, .nonEmpty, .length(...80)),
///         .replace("stars", \.stars) { max(0, $0) },
///         .required("author", \.author),
///         .model("it was closed before it was opened", at: "closedAt") { ($0.closedAt ?? .distantFuture) >= $0.openedAt })
///     }
///
/// Decoded archives, JSON and dictionaries, merge results and copies with changes are all validated. Each object is
/// validated once, after its fields are set and ``PostDecoding/didDecode(from:)`` has run. Nested objects are validated
/// before the object that contains them.
///
/// Subclasses inherit the rules of their superclass. A subclass with rules of its own adds them to the inherited rules:
///
///     class Shape: Validating {
///       class var validation: Validation<Shape> { Validation(.check("name", \.name, .nonEmpty)) }
///     }
///
///     final class Square: Shape {
///       override class var validation: Validation<Shape> {
///         super.validation.adding(Validation<Square>(.check("side", \.side, .range(0...))))
///       }
///     }
public protocol Validating: VersionedModel {
  /// The type to which the rules apply: the model itself, or the superclass that declares the conformance.
  associatedtype Validated: VersionedModel = Self

  /// The validation rules. This property is read once for each model type.
  static var validation: Validation<Validated> { get }
}

/// The validation rules of a ``Validating`` model.
///
/// The rules run in the order of the schema's fields. Several rules of the same field run in the given order. Rules of
/// the whole model run last. A failure does not stop the remaining rules, so every failure is reported.
public struct Validation<Root: VersionedModel>: Sendable {
  let rules: [Rule]

  /// Creates a list of rules. Several rules of the same field run in the given order.
  public init(_ rules: Rule...) { self.rules = rules }

  private init(_ rules: [Rule]) { self.rules = rules }

  /// Returns these rules, followed by the rules of a subclass.
  ///
  /// Validating an object that is not an instance of that subclass throws ``ArchiveError`` with the code `invalidSchema`.
  public func adding<Subclass: VersionedModel>(_ other: Validation<Subclass>) -> Validation {
    Validation(rules + other.rules.map { $0.converted(to: Root.self) })
  }

  /// A validation rule for one field or for the whole model.
  public struct Rule: Sendable {
    /// The key of the field that the rule applies to; `nil` for the whole model.
    let key: String?
    let run: @Sendable (inout Root, inout Undo<Root>) throws -> Void

    @usableFromInline
    init(key: String?, run: @escaping @Sendable (inout Root, inout Undo<Root>) throws -> Void) {
      self.key = key
      self.run = run
    }
  }
}

/// Restores the original values of fields that rules have replaced, if a rule fails.
@usableFromInline
struct Undo<Root> {
  private var steps: [(inout Root) -> Void] = []

  @usableFromInline
  mutating func set<V>(_ path: any WritableKeyPath<Root, V> & Sendable, of root: inout Root, to value: V) {
    let old = root[keyPath: path]
    root[keyPath: path] = value
    // Only class instances are restored, because other code may refer to them. An invalid struct or enum is discarded as a whole.
    if Root.self is AnyClass { steps.append { $0[keyPath: path] = old } }
  }

  func run(_ root: inout Root) { for step in steps.reversed() { step(&root) } }

  /// Adds the undo steps of rules that are declared for a superclass or a subclass and have changed the same object.
  fileprivate mutating func add<Other>(_ undo: Undo<Other>) {
    guard !undo.steps.isEmpty else { return }
    steps.append { root in if var other = root as? Other { undo.run(&other) } }
  }
}

extension Validation.Rule {
  /// Converts a rule for one class to a rule for its superclass or subclass. The converted rule throws an error if the object is not an
  /// instance of the original rule's class.
  func converted<Other: VersionedModel>(to type: Other.Type) -> Validation<Other>.Rule {
    if let same = self as? Validation<Other>.Rule { return same }
    return Validation<Other>.Rule(key: key) { other, undo in
      guard var root = other as? Root else {
        throw ArchiveError(
          .invalidSchema,
          "a validation rule for the class \(Root.schema.name) was added to the class \(Other.schema.name); move the rule to "
            + "\(Root.schema.name)",
          typeName: Other.schema.name)
      }
      var inner = Undo<Root>()
      defer { undo.add(inner) }
      try run(&root, &inner)
    }
  }
}

extension Validation.Rule {
  /// Checks a field. The checks run in the given order, and only the first failure is reported.
  @inlinable
  public static func check<V>(
    _ key: String, _ path: any KeyPath<Root, V> & Sendable, _ checks: ValidationCheck<V>...
  ) -> Self {
    Self(key: key) { root, _ in
      let value = root[keyPath: path]
      for check in checks { try check.run(value) }
    }
  }

  /// Checks the value of an optional field. A nil field is not checked.
  @inlinable
  public static func check<V>(
    _ key: String, _ path: any KeyPath<Root, V?> & Sendable, _ checks: ValidationCheck<V>...
  ) -> Self {
    Self(key: key) { root, _ in
      guard let value = root[keyPath: path] else { return }
      for check in checks { try check.run(value) }
    }
  }

  /// Checks the value of a field with a closure. The closure throws an error, such as an ``InvalidValue``, if the value is invalid.
  @inlinable
  public static func check<V>(
    _ key: String, _ path: any KeyPath<Root, V> & Sendable, _ check: @escaping @Sendable (V) throws -> Void
  ) -> Self {
    Self(key: key) { root, _ in try check(root[keyPath: path]) }
  }

  /// Replaces the value of a field with the result of a closure. The closure throws if the value is invalid.
  ///
  /// The rule runs again each time the model is validated. Applying the closure to its own result should therefore
  /// return the same value.
  @inlinable
  public static func replace<V>(
    _ key: String, _ path: any WritableKeyPath<Root, V> & Sendable,
    _ replacement: @escaping @Sendable (V) throws -> V
  ) -> Self {
    Self(key: key) { root, undo in undo.set(path, of: &root, to: try replacement(root[keyPath: path])) }
  }

  /// Checks that an optional field is not nil.
  @inlinable
  public static func required<V>(_ key: String, _ path: any KeyPath<Root, V?> & Sendable) -> Self {
    Self(key: key) { root, _ in
      if root[keyPath: path] == nil { throw InvalidValue("a value is required", code: .required) }
    }
  }

  /// Checks a condition on the whole model. The rule runs after all rules of fields.
  ///
  /// - Parameters:
  ///   - reason: describes the problem if the condition does not hold.
  ///   - key: the key of the field to report as invalid; by default, the failure is reported for the whole model.
  ///   - holds: returns whether the model is valid.
  @inlinable
  public static func model(
    _ reason: String, at key: String? = nil, _ holds: @escaping @Sendable (Root) throws -> Bool
  ) -> Self {
    Self(key: nil) { root, _ in if try !holds(root) { throw InvalidValue(reason, at: key) } }
  }

  /// Checks the whole model with a closure. The closure throws an error, such as an ``InvalidValue``, if the model is invalid.
  @inlinable
  public static func model(_ check: @escaping @Sendable (Root) throws -> Void) -> Self {
    Self(key: nil) { root, _ in try check(root) }
  }
}
