/// What a field does with the value of an enum case that this program does not know.
public enum UnknownCasePolicy: String, Sendable, Hashable {
  /// Decoding throws `unknownCase`.
  case fail
  /// The field takes its default when a model is read, and stays as it is when a model is merged: nobody knows what the
  /// case means, so it replaces nothing.
  ///
  /// A list, a set or a dictionary is read without the elements and entries that have such a case. A merge keeps the local entry under a
  /// dictionary's key whose value has such a case.
  case useDefault
}

extension TypeShape {
  /// How many containers are around the innermost elements of the type: 2 for `[String: [Colour]?]`.
  @usableFromInline
  var containerDepth: Int {
    switch kind {
    case .optional(let type): TypeShape(of: type).containerDepth
    case .array(let type), .set(let type), .dictionary(_, let type): 1 + TypeShape(of: type).containerDepth
    case .scalar, .untyped, .model, .rawValue, .opaque: 0
    }
  }

  /// A value without the elements and entries of containers that have a case which this program does not know.
  ///
  /// - Parameter check: throws what making a value of a type throws.
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
  /// Whether the value of a field, or an element in its containers, has a case that this program does not know. A model in the value has
  /// fields of its own, which say what they do then.
  ///
  /// - Parameter depth: how many containers are around the elements.
  @usableFromInline
  func isUnknownCase(within depth: @autoclosure () -> Int) -> Bool {
    code == .unknownCase && (codingPath.isEmpty || codingPath.count <= depth())
  }
}

extension FieldInfo {
  /// Whether the field takes its default, or leaves elements out, where reading its value throws an error.
  func acceptsUnknownCase(_ error: ArchiveError) -> Bool {
    unknown == .useDefault && error.isUnknownCase(within: shape.containerDepth)
  }
}

extension ArchiveValue {
  /// The array, set or dictionary with some of its elements or entries, or others in their places.
  ///
  /// - Parameter body: is given the element, and a container with that element alone.
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

/// What an enum with raw values does with one that it does not know.
///
/// Without a conformance to this protocol an unknown raw value is an error, or the default of a field that asks for
/// it with `unknown: .useDefault`.
public protocol UnknownCaseRepresentable {
  /// The case that stands for every raw value which no case has.
  static var unknownCase: Self { get }
}

/// An enum whose cases had other raw values before.
public protocol CaseAliasing: RawRepresentable where RawValue: Hashable {
  /// Former raw values and the cases that they stand for now.
  static var formerRawValues: [RawValue: Self] { get }
}
