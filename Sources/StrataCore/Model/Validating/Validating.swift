/// A model with rules that its values keep.
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
/// are set and ``PostDecoding/didDecode(from:)`` has run. Objects inside come before the one that holds them.
///
/// Subclasses keep the rules of their superclass. One that has rules of its own adds them:
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
  /// The type whose rules these are: the model itself, or the superclass that conforms.
  associatedtype Validated: VersionedModel = Self

  /// The rules. They are asked for once for each model.
  static var validation: Validation<Validated> { get }
}

/// The rules of a ``Validating`` model.
///
/// They run in the order of the fields in the schema, those of one field in the order given, and those of the whole
/// model at the end. All of them run, and every failure is reported.
public struct Validation<Root: VersionedModel>: Sendable {
  let rules: [Rule]

  /// Rules; those of one field run in the order given.
  public init(_ rules: Rule...) { self.rules = rules }

  private init(_ rules: [Rule]) { self.rules = rules }

  /// These rules and, after them, those of a subclass.
  ///
  /// Validating an object that is none of that subclass throws ``ArchiveError`` with the code `invalidSchema`.
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

/// Brings the values back that rules replaced.
@usableFromInline
struct Undo<Root> {
  private var steps: [(inout Root) -> Void] = []

  @usableFromInline
  mutating func set<V>(_ path: any WritableKeyPath<Root, V> & Sendable, of root: inout Root, to value: V) {
    let old = root[keyPath: path]
    root[keyPath: path] = value
    // A value that fails is thrown away as a whole; an object may be known to others.
    if Root.self is AnyClass { steps.append { $0[keyPath: path] = old } }
  }

  func run(_ root: inout Root) { for step in steps.reversed() { step(&root) } }

  /// Adds what was replaced in the same object as one of another class.
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
          .invalidSchema, "a rule is for objects of \(Root.schema.name); add it in that class",
          typeName: Other.schema.name)
      }
      var inner = Undo<Root>()
      defer { undo.add(inner) }
      try run(&root, &inner)
    }
  }
}

extension Validation.Rule {
  /// Checks a field, with the first check that fails as the failure.
  @inlinable
  public static func check<V>(
    _ key: String, _ path: any KeyPath<Root, V> & Sendable, _ checks: ValidationCheck<V>...
  ) -> Self {
    Self(key: key) { root, _ in
      let value = root[keyPath: path]
      for check in checks { try check.run(value) }
    }
  }

  /// Checks a field where it is not nil.
  @inlinable
  public static func check<V>(
    _ key: String, _ path: any KeyPath<Root, V?> & Sendable, _ checks: ValidationCheck<V>...
  ) -> Self {
    Self(key: key) { root, _ in
      guard let value = root[keyPath: path] else { return }
      for check in checks { try check.run(value) }
    }
  }

  /// Checks a field with code, which throws where the value is wrong: an ``InvalidValue`` or any error.
  @inlinable
  public static func check<V>(
    _ key: String, _ path: any KeyPath<Root, V> & Sendable, _ check: @escaping @Sendable (V) throws -> Void
  ) -> Self {
    Self(key: key) { root, _ in try check(root[keyPath: path]) }
  }

  /// Replaces the value of a field by what the code returns. It throws where the value is wrong.
  ///
  /// Rules run again whenever the model is validated, so what they return should pass unchanged.
  @inlinable
  public static func replace<V>(
    _ key: String, _ path: any WritableKeyPath<Root, V> & Sendable,
    _ replacement: @escaping @Sendable (V) throws -> V
  ) -> Self {
    Self(key: key) { root, undo in undo.set(path, of: &root, to: try replacement(root[keyPath: path])) }
  }

  /// Makes sure that an optional is not nil.
  @inlinable
  public static func required<V>(_ key: String, _ path: any KeyPath<Root, V?> & Sendable) -> Self {
    Self(key: key) { root, _ in
      if root[keyPath: path] == nil { throw InvalidValue("a value is required", code: .required) }
    }
  }

  /// Checks the whole model, after the rules of its fields: what several fields must hold together.
  ///
  /// - Parameters:
  ///   - reason: what is wrong where it does not hold.
  ///   - key: the field to blame; the failure is the whole model's unless given.
  ///   - holds: whether the model is right.
  @inlinable
  public static func model(
    _ reason: String, at key: String? = nil, _ holds: @escaping @Sendable (Root) throws -> Bool
  ) -> Self {
    Self(key: nil) { root, _ in if try !holds(root) { throw InvalidValue(reason, at: key) } }
  }

  /// Checks the whole model with code, which throws where it is wrong: an ``InvalidValue`` or any error.
  @inlinable
  public static func model(_ check: @escaping @Sendable (Root) throws -> Void) -> Self {
    Self(key: nil) { root, _ in try check(root) }
  }
}
