/// How a field treats an enum case that this program does not know.
public enum UnknownCasePolicy: String, Sendable, Hashable {
  /// Decoding throws `unknownCase`.
  case fail
  /// In decoding, the field gets its default. In a merge, the field keeps its local value, because the meaning of the
  /// incoming case is unknown.
  ///
  /// In an array, set or dictionary, only elements or entries with an unknown case are skipped. If an incoming
  /// dictionary value has an unknown case, a merge keeps the local entry.
  case useDefault
}

extension TypeShape {
  /// The nesting depth of arrays, sets and dictionaries in the type: 2 for `[String: [Colour]?]`.
  @usableFromInline
  var containerDepth: Int {
    switch kind {
    case .optional(let type): TypeShape(of: type).containerDepth
    case .array(let type), .set(let type), .dictionary(_, let type): 1 + TypeShape(of: type).containerDepth
    case .scalar, .untyped, .model, .rawValue, .opaque: 0
    }
  }

  /// Returns a copy of the value without the elements and dictionary entries that have an enum case unknown to this program.
  ///
  /// - Parameter check: tries to decode a value as a type and throws the resulting error.
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
  /// Returns whether the error is caused by an unknown enum case in the field's value or in an element of its containers. Unknown cases in
  /// the fields of nested models are ignored, because these fields have their own policies.
  ///
  /// - Parameter depth: the nesting depth of the field's arrays, sets and dictionaries, which is the length of the path to an innermost
  ///   element.
  @usableFromInline
  func isUnknownCase(within depth: @autoclosure () -> Int) -> Bool {
    code == .unknownCase && (codingPath.isEmpty || codingPath.count <= depth())
  }
}

extension FieldInfo {
  /// Returns whether the field's policy accepts this error: the field then uses its default, or skips the elements with
  /// unknown cases.
  package func acceptsUnknownCase(_ error: ArchiveError) -> Bool {
    unknown == .useDefault && error.isUnknownCase(within: shape.containerDepth)
  }
}

extension FieldInfo {
  /// Whether reading the field can replace or skip an enum case that this program does not know.
  package var replacesUnknownCases: Bool { unknown == .useDefault || SchemaCatalog(of: type).hasSubstitutes }

  /// Returns the value that the field gets when it is read from a value with an unknown enum case; `nil` if the value has no unknown case.
  ///
  /// - Parameter source: the form of `value`: JSON or an archive.
  /// - Throws: any error that reading the field throws.
  package func replacingUnknownCases(in value: ArchiveValue, from source: DecodingSource = .archive) throws
    -> ArchiveValue?
  {
    let context = DecodingContext(source: source, includesExcluded: true, finishing: .never)
    func read(_ value: ArchiveValue) throws -> ArchiveValue {
      try ValueCoding.typed(value, as: type, ReferencedObjects(), in: context)
    }
    var replaced: ArchiveValue?
    do { replaced = try read(value) } catch let error as ArchiveError where acceptsUnknownCase(error) {
      replaced =
        error.codingPath.isEmpty
        ? try absentValue()
        : try read(TypeShape.withoutUnknownCases(value, type) { try ValueCoding.check($1, as: $0, in: context) })
    }
    return context.report.typesWithUnknownCases.isEmpty ? nil : replaced
  }
}

extension ArchiveValue {
  /// Returns a copy of an array, set or dictionary with some of its elements or entries removed or replaced.
  ///
  /// - Parameter body: receives an element and a container of the same kind that has only this element. Returns the new element, or `nil`
  ///   to remove the element.
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

/// An enum that maps unknown raw values to one of its cases.
///
/// If an enum does not conform to this protocol, an unknown raw value is an error, unless the field declares `unknown:
/// .useDefault`.
public protocol UnknownCaseRepresentable {
  /// The case that represents all unknown raw values.
  static var unknownCase: Self { get }
}

/// An enum whose cases formerly had other raw values.
public protocol CaseAliasing: RawRepresentable where RawValue: Hashable {
  /// The current case for each former raw value.
  static var formerRawValues: [RawValue: Self] { get }
}
