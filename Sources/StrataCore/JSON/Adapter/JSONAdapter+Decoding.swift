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
    if let path, path.readsEach { return try reader.withValue(of: json) { try decode($0, at: path, errors: errors) } }
    return try withElement(of: json, at: path) { element, context in
      do { return try make(element, in: context, errors) } catch {
        throw ArchiveError.wrap(error).prefixed(by: path?.components ?? [])
      }
    }
  }

  /// Reads a document that was parsed before.
  public func decode(_ json: ArchiveValue, at path: JSONPath? = nil, errors: JSONErrors = .first) throws -> Root {
    let (value, path) = try found(json, path)
    do { return try make(value, in: context(.first), errors) } catch {
      throw ArchiveError.wrap(error).prefixed(by: path)
    }
  }

  /// Reads an array, in its order. All or nothing, unless invalid elements are skipped: those that cannot be read, that a
  /// hook refuses, or that break a rule. A limit that is reached is an error in any case.
  ///
  /// - Parameters:
  ///   - json: the text, in UTF-8.
  ///   - path: where in the document: `data.items`.
  ///   - invalid: what happens to an element that cannot be read.
  ///   - errors: whether the errors of all elements are collected; by default the first one is thrown.
  public func decodeArray(
    _ json: Data, at path: JSONPath? = nil, onInvalid invalid: InvalidElements = .fail, errors: JSONErrors = .first
  ) throws -> [Root] {
    if let path, path.readsEach {
      return try reader.withValue(of: json) { try decodeArray($0, at: path, onInvalid: invalid, errors: errors) }
    }
    return try withElement(of: json, at: path) { array, context in
      let stops = invalid == .fail && errors == .first
      let (models, failures) = try elements(array, path?.components ?? [], stops: stops, errors, in: context)
      if invalid == .fail, let error = ArchiveError.combined(failures) { throw error }
      return models
    }
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
    if let path, path.readsEach {
      return try reader.withValue(of: json) { try decodeArray($0, at: path, report: &report) }
    }
    let (models, failures) = try withElement(of: json, at: path) { array, context in
      try elements(array, path?.components ?? [], stops: false, .collectAll, in: context)
    }
    report = JSONArrayReport(count: models.count + failures.count, failures: failures)
    return models
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
    var failures: [ArchiveError] = []
    let models = try elements.results(of: { try make($0, in: context, errors) }) { error in
      let error = error.prefixed(by: path)
      guard error.isOfElement, !stops else { throw error }
      failures.append(error)
    }
    return (models, failures)
  }

  private func elements(
    _ array: JSONElement, _ path: [ArchiveError.PathComponent], stops: Bool, _ errors: JSONErrors,
    in context: DecodingContext
  ) throws -> ([Root], [ArchiveError]) {
    guard array.kind == .array else { throw array.mismatch("an array").prefixed(by: path) }
    var models: [Root] = []
    models.reserveCapacity(array.elementCount)
    var failures: [ArchiveError] = []
    var place = try array.firstElement()
    while place < array.end {
      do { models.append(try make(array.element(at: place), in: context, errors)) } catch {
        let error = ArchiveError.at(.index(models.count + failures.count), error).prefixed(by: path)
        guard error.isOfElement, !stops else { throw error }
        failures.append(error)
      }
      place = array.place(after: place)
    }
    return (models, failures)
  }

  /// Calls `body` with the value at a path of a text, of keys and indices, and with a context to read it in.
  private func withElement<R>(
    of json: Data, at path: JSONPath?, _ body: (JSONElement, DecodingContext) throws -> R
  ) throws -> R {
    let context = context(.first)
    context.budget.begin(fileSize: json.count)
    return try Measured.work("read JSON", Root._archiveTypeName, bytes: { _ in json.count }) {
      try reader.withRoot(of: json, depthLimit: ArchiveLimits().depth) { root in
        guard let path else { return try body(root, context) }
        guard let place = try path.place(in: root) else { throw Self.nothing(at: path) }
        return try body(root.element(at: place), context)
      }
    }
  }

  /// Makes a model of a value in a text, and looks for all errors where there is one.
  private func make(_ element: JSONElement, in context: DecodingContext, _ errors: JSONErrors) throws -> Root {
    do {
      return try context.checked {
        do { return try Root.make(fromJSON: element, in: context) } catch { throw element.located(error) }
      }
    } catch {
      guard errors == .collectAll, let first = error as? ArchiveError, ![.invalid, .invalidJSON].contains(first.code)
      else { throw error }
      // Keys that no field reads may be duplicates, and hide no error; those that one reads were refused before.
      let value = try element.lastValue().value
      do { _ = try made(value, in: self.context(.collectAll)) } catch { throw element.located(error) }
      throw first
    }
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
    guard let value = try path.value(in: json) else { throw Self.nothing(at: path) }
    return (value, path.components)
  }

  private static func nothing(at path: JSONPath) -> ArchiveError {
    ArchiveError(.missingValue, "the document has nothing at the path").prefixed(by: path.components)
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

extension JSONArrayReport: CustomStringConvertible {
  /// One line: how many elements were skipped, and the error of each.
  public var description: String {
    let errors = failures.map(\.description).joined(separator: "; ")
    return "\(failures.count) of \(count.counting("element")) skipped\(errors.isEmpty ? "" : ": ")\(errors)".onOneLine
  }
}

extension Array {
  /// Returns the results of `make` for the elements, in their order.
  ///
  /// - Parameter failed: Called with the error of an element, whose path begins with the index. The element is skipped unless
  ///   it throws.
  func results<Result>(
    of make: (Element) throws -> Result, failed: (ArchiveError) throws -> Void = { throw $0 }
  ) throws -> [Result] {
    var results: [Result] = []
    results.reserveCapacity(count)
    for (index, element) in enumerated() {
      do { results.append(try make(element)) } catch { try failed(ArchiveError.at(.index(index), error)) }
    }
    return results
  }
}
