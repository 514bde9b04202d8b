public import Foundation

extension JSONAdapter {
  /// Reads a document.
  ///
  /// - Parameters:
  ///   - json: the text, in UTF-8.
  ///   - path: the path in the document, such as `data.item` for a response that wraps the item.
  ///   - errors: whether all errors are collected. By default, the first error is thrown.
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` if the text is not JSON; `typeMismatch` if a value has the wrong type for its
  ///   field; `missingValue` if a value without a default is absent; `unknownCase` for a case that the model does not know; `rejected` if a
  ///   transformer or the model's own code rejects a value; and `invalid` if the model breaks one of its rules. ``ArchiveError/codingPath``
  ///   is the path in the model, ``ArchiveError/jsonPath`` is the path in the JSON, and ``ArchiveError/input`` is the value at that path.
  public func decode(_ json: Data, at path: ValuePath? = nil, errors: JSONErrors = .first) throws -> Root {
    if let path, path.readsEach { return try reader.withValue(of: json) { try decode($0, at: path, errors: errors) } }
    return try withElement(of: json, at: path) { element, context in
      do { return try decodeRoot(element, in: context, errors) } catch {
        throw ArchiveError.wrap(error).prefixed(by: path?.errorPath ?? [])
      }
    }
  }

  /// Reads a document that is already parsed.
  public func decode(_ json: ArchiveValue, at path: ValuePath? = nil, errors: JSONErrors = .first) throws -> Root {
    let (value, path) = try found(json, path)
    do { return try decodeRoot(value, in: context(.first), errors) } catch {
      throw ArchiveError.wrap(error).prefixed(by: path)
    }
  }

  /// Reads an array, in order. An error in one element fails the whole array, unless `onInvalid` handles such errors.
  ///
  ///     let issues = try adapter.decodeArray(data, at: "data.items") { skipped.append($0) }
  ///
  /// - Parameters:
  ///   - json: the text, in UTF-8.
  ///   - path: the path in the document, such as `data.items`.
  ///   - errors: whether all errors are collected. By default, the first error is thrown.
  ///   - onInvalid: called with the error of each element that cannot be read, that a hook rejects, or that breaks a rule. The element is
  ///     then skipped. The path of the error consists of `path`, the index, and the path in the element. An error about an exceeded limit
  ///     or an invalid declaration is always thrown.
  /// - Throws: the same errors as `decode(_:at:errors:)`, and `typeMismatch` if the value is not an array.
  public func decodeArray(
    _ json: Data, at path: ValuePath? = nil, errors: JSONErrors = .first,
    onInvalid: ((ArchiveError) -> Void)? = nil
  ) throws -> [Root] {
    if let path, path.readsEach {
      return try reader.withValue(of: json) { try decodeArray($0, at: path, errors: errors, onInvalid: onInvalid) }
    }
    return try withElement(of: json, at: path) { array, context in
      guard array.kind == .array else { throw array.mismatch("an array").prefixed(by: path?.errorPath ?? []) }
      var failures = ElementFailures(errors, path?.errorPath ?? [], onInvalid)
      var models: [Root] = []
      models.reserveCapacity(array.elementCount)
      var place = try array.firstElement()
      while place < array.end {
        do { models.append(try decodeRoot(array.element(at: place), in: context, failures.errors)) } catch {
          try failures.add(ArchiveError.at(.index(models.count + failures.count), error))
        }
        place = array.place(after: place)
      }
      return try failures.check(models)
    }
  }

  /// Reads an array that is already parsed.
  public func decodeArray(
    _ json: ArchiveValue, at path: ValuePath? = nil, errors: JSONErrors = .first,
    onInvalid: ((ArchiveError) -> Void)? = nil
  ) throws -> [Root] {
    let (value, path) = try found(json, path)
    guard case .array(let elements) = value else {
      throw ArchiveError.mismatch(expected: "an array", found: value.kind).about(value).prefixed(by: path)
    }
    let context = context(.first)
    var failures = ElementFailures(errors, path, onInvalid)
    let models = try elements.results(of: { try decodeRoot($0, in: context, failures.errors) }) { try failures.add($0) }
    return try failures.check(models)
  }

  /// Finds the value at a path of keys and indices in a JSON text, and calls `body` with it and with a context for reading it.
  private func withElement<R>(
    of json: Data, at path: ValuePath?, _ body: (JSONElement, DecodingContext) throws -> R
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

  /// Creates a model from a value in a JSON text. If this fails and `errors` is `collectAll`, decodes the value again to collect all
  /// errors.
  private func decodeRoot(_ element: JSONElement, in context: DecodingContext, _ errors: JSONErrors) throws -> Root {
    do {
      return try context.checked {
        do { return try Root.decode(fromJSON: element, in: context) } catch { throw element.located(error) }
      }
    } catch {
      guard errors == .collectAll, let first = error as? ArchiveError, ![.invalid, .invalidJSON].contains(first.code)
      else { throw error }
      // If a key occurs twice, the last value is used. The first attempt has already rejected duplicates of keys that a field reads, and
      // that error is thrown above. Only duplicates in nested objects that the first attempt did not reach go unreported.
      let value = try element.lastValue().value
      do { _ = try decodeChecked(value, in: self.context(.collectAll)) } catch { throw element.located(error) }
      throw first
    }
  }

  /// Creates a model from a value. If this fails and `errors` is `collectAll`, decodes the value again to collect all errors.
  private func decodeRoot(_ value: ArchiveValue, in context: DecodingContext, _ errors: JSONErrors) throws -> Root {
    do { return try decodeChecked(value, in: context) } catch {
      guard errors == .collectAll, (error as? ArchiveError)?.code != .invalid else { throw error }
      return try decodeChecked(value, in: self.context(.collectAll))
    }
  }

  /// Reads a document without running the hooks and rules of models.
  func decodeUnfinished(_ json: ArchiveValue) throws -> Root {
    try Root.decode(from: json, in: context(.first, finishesModels: false))
  }

  private func decodeChecked(_ value: ArchiveValue, in context: DecodingContext) throws -> Root {
    try context.checked { try Root.decode(from: value, in: context) }
  }

  /// Returns the value at a path. Also returns the components of the path, which are prepended to the paths of errors.
  private func found(_ json: ArchiveValue, _ path: ValuePath?) throws -> (ArchiveValue, [ArchiveError.PathComponent]) {
    guard let path else { return (json, []) }
    guard let value = try path.value(in: json) else { throw Self.nothing(at: path) }
    return (value, path.errorPath)
  }

  private static func nothing(at path: ValuePath) -> ArchiveError {
    ArchiveError(.missingValue, "the document has no value at the requested path").prefixed(by: path.errorPath)
  }
}

/// Handles the errors of array elements. Each error is passed to `onInvalid`, collected, or thrown.
private struct ElementFailures {
  /// Which errors to report for an element: only the first, or all.
  let errors: JSONErrors
  private(set) var count = 0
  private let path: [ArchiveError.PathComponent]
  private let onInvalid: ((ArchiveError) -> Void)?
  private var collected: [ArchiveError] = []

  init(_ errors: JSONErrors, _ path: [ArchiveError.PathComponent], _ onInvalid: ((ArchiveError) -> Void)?) {
    (self.errors, self.path, self.onInvalid) = (errors, path, onInvalid)
  }

  mutating func add(_ error: ArchiveError) throws {
    let error = error.prefixed(by: path)
    guard error.isOfElement else { throw error }
    count += 1
    if let onInvalid { return onInvalid(error) }
    guard errors == .collectAll else { throw error }
    collected.append(error)
  }

  /// Returns `models` if no errors were collected.
  ///
  /// - Throws: the collected errors, combined into one.
  func check<Root>(_ models: [Root]) throws -> [Root] {
    if let error = ArchiveError.combined(collected) { throw error }
    return models
  }
}

extension Array {
  /// Calls `make` with each element and returns the results, in order.
  ///
  /// - Parameter failed: called with the error if `make` fails for an element. The path of the error begins with the index of the element.
  ///   If `failed` does not throw, the element is skipped.
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
