/// The treatment of an enum case that this program does not know, in the value of a field.
public enum UnknownCasePolicy: String, Sendable, Hashable {
  /// Decoding throws `unknownCase`.
  case fail
  /// The field takes its default when a model is read, and stays unchanged when a model is merged: the meaning of the
  /// case is unknown, so it replaces nothing.
  ///
  /// A list, a set or a dictionary is read without the elements and entries that have such a case. If the incoming
  /// value of a dictionary's key has such a case, a merge keeps the local entry.
  case useDefault
}

extension TypeShape {
  /// The number of containers around the innermost elements of the type: 2 for `[String: [Colour]?]`.
  @usableFromInline
  var containerDepth: Int {
    switch kind {
    case .optional(let type): TypeShape(of: type).containerDepth
    case .array(let type), .set(let type), .dictionary(_, let type): 1 + TypeShape(of: type).containerDepth
    case .scalar, .untyped, .model, .rawValue, .opaque: 0
    }
  }

  /// Returns a value without the elements and entries of containers that have an unknown case.
  ///
  /// - Parameter check: throws the error of decoding a value as a type.
  static func withoutUnknownCases(
    _ value: ArchiveValue, _ type: Any.Type, _ check: (Any.Type, ArchiveValue) throws -> Void
  ) throws -> ArchiveValue {
    switch TypeShape(of: type).kind {
    case .optional(let wrapped): return value.isNull ? value : try withoutUnknownCases(value, wrapped, check)
    case .array(let element), .set(let element), .dictionary(_, let element):
      let depth = TypeShape(of: element).containerDepth
      return try value.filterInside { inner, single in
        do { try check(type, single) } catch let error as ArchiveError where error.code == .unknownCase {
          if error.codingPath.count <= 1 { return nil }
          if depth > 0 { return try withoutUnknownCases(inner, element, check) }
          throw error
        }
        return inner
      }
    case .scalar, .untyped, .model, .rawValue, .opaque: return value
    }
  }
}

extension ArchiveError {
  /// Whether the value of a field, or an element in its containers, has a case that this program does not know. A model
  /// in the value has its own fields, which have their own policies.
  ///
  /// - Parameter depth: the number of containers around the elements.
  @usableFromInline
  func isUnknownCase(within depth: @autoclosure () -> Int) -> Bool {
    code == .unknownCase && (codingPath.isEmpty || codingPath.count <= depth())
  }
}

extension FieldInfo {
  /// Whether the field takes its default, or skips elements, if reading its value throws this error.
  package func acceptsUnknownCase(_ error: ArchiveError) -> Bool {
    unknown == .useDefault && error.isUnknownCase(within: shape.containerDepth)
  }
}

extension ArchiveValue {
  /// Returns the array, set or dictionary with elements or entries removed or replaced.
  ///
  /// - Parameter body: receives the element, and a container with only that element.
  fileprivate func filterInside(_ body: (ArchiveValue, ArchiveValue) throws -> ArchiveValue?) rethrows -> ArchiveValue {
    switch self {
    case .array(let elements): .array(try elements.compactMap { try body($0, .array([$0])) })
    case .set(let members): .set(try members.compactMap { try body($0, .set([$0])) })
    case .object(let object):
      .object(
        ArchiveObject(
          uniqueEntries: try object.entries.compactMap { entry in
            try body(entry.value, .object(ArchiveObject(uniqueEntries: [entry]))).map {
              ArchiveObject.Entry(key: entry.key, value: $0)
            }
          }))
    case .map(let entries):
      .map(
        try entries.compactMap { entry in
          try body(entry.value, .map([entry])).map { MapEntry(key: entry.key, value: $0) }
        })
    default: self
    }
  }
}

/// An enum with a case for unknown raw values.
///
/// Without a conformance to this protocol an unknown raw value is an error, or the default of a field that asks for
/// it with `unknown: .useDefault`.
public protocol UnknownCaseRepresentable {
  /// The case for every raw value that no case has.
  static var unknownCase: Self { get }
}

/// An enum whose cases had other raw values before.
public protocol CaseAliasing: RawRepresentable where RawValue: Hashable {
  /// Former raw values and their current cases.
  static var formerRawValues: [RawValue: Self] { get }
}
