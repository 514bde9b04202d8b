/// A model with rules for its values.
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
/// Archives, JSON, dictionaries, merges and copies with changes all validate, once for each object, after its fields
/// are set and ``PostDecoding/didDecode(from:)`` has run. Objects inside are validated before the object that contains them.
///
/// Subclasses keep the rules of their superclass. A subclass with its own rules adds them:
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
  /// The type that declares the rules: the model itself, or the superclass that conforms.
  associatedtype Validated: VersionedModel = Self

  /// The rules. Read once for each model.
  static var validation: Validation<Validated> { get }
}

/// The rules of a ``Validating`` model.
///
/// They run in the order of the fields in the schema. The rules of one field run in the given order, and rules of the
/// whole model at the end. All of them run, and every failure is reported.
public struct Validation<Root: VersionedModel>: Sendable {
  let rules: [Rule]

  /// Creates rules. The rules of one field run in the given order.
  public init(_ rules: Rule...) { self.rules = rules }

  private init(_ rules: [Rule]) { self.rules = rules }

  /// Returns these rules, followed by the rules of a subclass.
  ///
  /// Validating an object that is not an instance of that subclass throws ``ArchiveError`` with the code `invalidSchema`.
  public func adding<Subclass: VersionedModel>(_ other: Validation<Subclass>) -> Validation {
    Validation(rules + other.rules.map { $0.converted(to: Root.self) })
  }

  /// One rule of a model.
  public struct Rule: Sendable {
    /// The field that the rule is about; `nil` for the whole model.
    let key: String?
    let run: @Sendable (inout Root, inout Undo<Root>) throws -> Void

    @usableFromInline
    init(key: String?, run: @escaping @Sendable (inout Root, inout Undo<Root>) throws -> Void) {
      self.key = key
      self.run = run
    }
  }
}

/// Restores the values that rules replaced.
@usableFromInline
struct Undo<Root> {
  private var steps: [(inout Root) -> Void] = []

  @usableFromInline
  mutating func set<V>(_ path: any WritableKeyPath<Root, V> & Sendable, of root: inout Root, to value: V) {
    let old = root[keyPath: path]
    root[keyPath: path] = value
    // An invalid value is discarded as a whole, but other code may hold a reference to an object.
    if Root.self is AnyClass { steps.append { $0[keyPath: path] = old } }
  }

  func run(_ root: inout Root) { for step in steps.reversed() { step(&root) } }

  /// Adds the replacements in the same object that the rules of another class made.
  fileprivate mutating func add<Other>(_ undo: Undo<Other>) {
    guard !undo.steps.isEmpty else { return }
    steps.append { root in if var other = root as? Other { undo.run(&other) } }
  }
}

extension Validation.Rule {
  /// The rule for objects of a superclass or a subclass.
  func converted<Other: VersionedModel>(to type: Other.Type) -> Validation<Other>.Rule {
    if let same = self as? Validation<Other>.Rule { return same }
    return Validation<Other>.Rule(key: key) { other, undo in
      guard var root = other as? Root else {
        throw ArchiveError(
          .invalidSchema, "a rule applies to objects of \(Root.schema.name); add it to that class",
          typeName: Other.schema.name)
      }
      var inner = Undo<Root>()
      defer { undo.add(inner) }
      try run(&root, &inner)
    }
  }
}

extension Validation.Rule {
  /// Checks a field. Only the first check that fails is reported.
  @inlinable
  public static func check<V>(
    _ key: String, _ path: any KeyPath<Root, V> & Sendable, _ checks: ValidationCheck<V>...
  ) -> Self {
    Self(key: key) { root, _ in
      let value = root[keyPath: path]
      for check in checks { try check.run(value) }
    }
  }

  /// Checks a field if it is not nil.
  @inlinable
  public static func check<V>(
    _ key: String, _ path: any KeyPath<Root, V?> & Sendable, _ checks: ValidationCheck<V>...
  ) -> Self {
    Self(key: key) { root, _ in
      guard let value = root[keyPath: path] else { return }
      for check in checks { try check.run(value) }
    }
  }

  /// Checks a field with code that throws an ``InvalidValue`` or any other error if the value is invalid.
  @inlinable
  public static func check<V>(
    _ key: String, _ path: any KeyPath<Root, V> & Sendable, _ check: @escaping @Sendable (V) throws -> Void
  ) -> Self {
    Self(key: key) { root, _ in try check(root[keyPath: path]) }
  }

  /// Replaces the value of a field by the result of the code, which throws if the value is invalid.
  ///
  /// Rules run again whenever the model is validated, so the result should pass them unchanged.
  @inlinable
  public static func replace<V>(
    _ key: String, _ path: any WritableKeyPath<Root, V> & Sendable,
    _ replacement: @escaping @Sendable (V) throws -> V
  ) -> Self {
    Self(key: key) { root, undo in undo.set(path, of: &root, to: try replacement(root[keyPath: path])) }
  }

  /// Checks that an optional is not nil.
  @inlinable
  public static func required<V>(_ key: String, _ path: any KeyPath<Root, V?> & Sendable) -> Self {
    Self(key: key) { root, _ in
      if root[keyPath: path] == nil { throw InvalidValue("a value is required", code: .required) }
    }
  }

  /// Checks the whole model, after the rules of its fields: conditions that involve several fields.
  ///
  /// - Parameters:
  ///   - reason: the problem if the condition does not hold.
  ///   - key: the field to blame; the whole model unless given.
  ///   - holds: whether the model is valid.
  @inlinable
  public static func model(
    _ reason: String, at key: String? = nil, _ holds: @escaping @Sendable (Root) throws -> Bool
  ) -> Self {
    Self(key: nil) { root, _ in if try !holds(root) { throw InvalidValue(reason, at: key) } }
  }

  /// Checks the whole model with code that throws an ``InvalidValue`` or any other error if the model is invalid.
  @inlinable
  public static func model(_ check: @escaping @Sendable (Root) throws -> Void) -> Self {
    Self(key: nil) { root, _ in try check(root) }
  }
}
