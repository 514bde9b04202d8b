public import Foundation

extension JSONAdapter {
  /// Reads a document.
  ///
  /// - Parameters:
  ///   - json: the text, in UTF-8.
  ///   - path: where in the document: `data.item` of a response that wraps what was asked for.
  ///   - errors: whether all errors are collected; by default the first one is thrown.
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` where the text is no JSON; `typeMismatch` where a value is
  ///   not what a field holds, `missingValue` where something is absent that has no default, `unknownCase`, and
  ///   `rejected` where a transformer or the model's own code refuses. ``ArchiveError/codingPath`` names the
  ///   properties, ``ArchiveError/jsonPath`` the place in JSON, ``ArchiveError/input`` the value there.
  public func decode(_ json: Data, at path: JSONPath? = nil, errors: JSONErrors = .first) throws -> Root {
    guard path == nil else { return try withValue(of: json) { try decode($0, at: path, errors: errors) } }
    do { return try made(of: json) } catch {
      // Where there is one error, all of them are looked for.
      guard errors == .collectAll, (error as? ArchiveError)?.code != .invalidJSON else { throw error }
      return try withValue(of: json) { try decode($0, errors: errors) }
    }
  }

  /// Reads a document that was parsed before.
  public func decode(_ json: ArchiveValue, at path: JSONPath? = nil, errors: JSONErrors = .first) throws -> Root {
    let (value, path) = try found(json, path)
    do { return try make(value, in: context(.first), errors) } catch {
      throw ArchiveError.wrap(error).prefixed(by: path)
    }
  }

  /// Reads an array, in its order. All or nothing, unless invalid elements are skipped.
  ///
  /// - Parameters:
  ///   - json: the text, in UTF-8.
  ///   - path: where in the document: `data.items`.
  ///   - invalid: what happens to an element that cannot be read.
  ///   - errors: whether the errors of all elements are collected; by default the first one is thrown.
  public func decodeArray(
    _ json: Data, at path: JSONPath? = nil, onInvalid invalid: InvalidElements = .fail, errors: JSONErrors = .first
  ) throws -> [Root] {
    try withValue(of: json) { try decodeArray($0, at: path, onInvalid: invalid, errors: errors) }
  }

  /// Reads an array that was parsed before.
  public func decodeArray(
    _ json: ArchiveValue, at path: JSONPath? = nil, onInvalid invalid: InvalidElements = .fail,
    errors: JSONErrors = .first
  ) throws -> [Root] {
    let (value, path) = try found(json, path)
    let (models, failures) = try elements(value, path, stops: invalid == .fail && errors == .first, errors)
    if invalid == .fail, let error = ArchiveError.combined(failures) { throw error }
    return models
  }

  /// Reads an array and skips elements that cannot be read, which the report lists.
  ///
  /// - Throws: ``ArchiveError`` where the text is no JSON, or no array.
  public func decodeArray(
    _ json: Data, at path: JSONPath? = nil, report: inout JSONArrayReport
  ) throws -> [Root] {
    try withValue(of: json) { try decodeArray($0, at: path, report: &report) }
  }

  /// Reads an array that was parsed before, and skips elements that cannot be read.
  public func decodeArray(
    _ json: ArchiveValue, at path: JSONPath? = nil, report: inout JSONArrayReport
  ) throws -> [Root] {
    let (value, path) = try found(json, path)
    let (models, failures) = try elements(value, path, stops: false, .collectAll)
    report = JSONArrayReport(count: models.count + failures.count, failures: failures)
    return models
  }

  private func elements(
    _ value: ArchiveValue, _ path: [ArchiveError.PathComponent], stops: Bool, _ errors: JSONErrors
  ) throws -> ([Root], [ArchiveError]) {
    guard case .array(let elements) = value else {
      throw ArchiveError.mismatch(expected: "an array", found: value.kind).about(value).prefixed(by: path)
    }
    let context = context(.first)
    var models: [Root] = []
    models.reserveCapacity(elements.count)
    var failures: [ArchiveError] = []
    for (index, element) in elements.enumerated() {
      do { models.append(try make(element, in: context, errors)) } catch {
        failures.append(ArchiveError.at(.index(index), error).prefixed(by: path))
        if stops { break }
      }
    }
    return (models, failures)
  }

  /// Makes a model, and looks for all errors where there is one.
  private func make(_ value: ArchiveValue, in context: DecodingContext, _ errors: JSONErrors) throws -> Root {
    do { return try made(value, in: context) } catch {
      guard errors == .collectAll, (error as? ArchiveError)?.code != .invalid else { throw error }
      return try made(value, in: self.context(.collectAll))
    }
  }

  /// What a document holds, before any hook or rule of a model.
  func unfinished(_ json: ArchiveValue) throws -> Root {
    try Root.make(from: json, in: context(.first, finishesModels: false))
  }

  private func made(_ value: ArchiveValue, in context: DecodingContext) throws -> Root {
    try context.checked { try Root.make(from: value, in: context) }
  }

  /// The value at a path and the path of its errors.
  private func found(_ json: ArchiveValue, _ path: JSONPath?) throws -> (ArchiveValue, [ArchiveError.PathComponent]) {
    guard let path else { return (json, []) }
    guard let value = try path.value(in: json) else {
      throw ArchiveError(.missingValue, "the document has nothing at the path").prefixed(by: path.components)
    }
    return (value, path.components)
  }
}

/// What happens to elements of an array that cannot be read.
public enum InvalidElements: String, Sendable, Hashable {
  /// The first one is thrown.
  case fail
  /// They are left out.
  case skip
}

/// Which elements of an array were skipped, and why.
public struct JSONArrayReport: Sendable {
  /// How many elements the array had.
  public let count: Int
  /// An error for each element that was skipped; its path begins with the index that the element had.
  public let failures: [ArchiveError]

  /// The report of an array without elements.
  public init() { (count, failures) = (0, []) }

  init(count: Int, failures: [ArchiveError]) { (self.count, self.failures) = (count, failures) }
}
