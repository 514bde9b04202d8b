extension ArrayType {
  /// Returns the elements that can be decoded. If the context runs the hooks of models, the decoded elements are returned in `made` instead
  /// of `values`, so that they are not decoded again and no hook runs twice.
  ///
  /// - Throws: any error about a declaration or the whole document instead of a single element; see ``ArchiveError/isOfElement``.
  static func valid(
    _ elements: [ArchiveValue], in context: DecodingContext
  ) throws -> (values: [ArchiveValue], made: [Element]?) {
    guard let make = maker else { return (elements, nil) }
    let isResult = context.finishesModels
    let trial = isResult ? context : context.trying
    var values: [ArchiveValue] = []
    var made: [Element] = []
    for (index, element) in elements.enumerated() {
      do {
        guard let valid = try trial.valid({ try make(element, trial) }) else { continue }
        if isResult { made.append(valid) } else { values.append(element) }
      } catch { throw ArchiveError.at(.index(index), error) }
    }
    return (values, isResult ? made : nil)
  }

  /// Returns a closure that decodes an element; `nil` if the element type cannot be decoded.
  private static var maker: ((ArchiveValue, DecodingContext) throws -> Element?)? {
    if let type = TypeShape.archivable(Element.self) { return { try type.decode(from: $0, in: $1) as? Element } }
    if let type = Element.self as? any Decodable.Type {
      return { try ValueCoding.decode(type, from: $0, in: $1) as? Element }
    }
    return nil
  }
}

extension DecodingContext {
  /// Returns the result of `make`; `nil` if decoding the element fails or a rule is broken. Errors that `make` records in the context are
  /// removed.
  fileprivate func valid<T>(_ make: () throws -> T?) throws -> T? {
    let before = (firstFailure, collectsErrors)
    defer { (firstFailure, collectsErrors) = before }
    (firstFailure, collectsErrors) = (nil, false)
    do {
      let value = try make()
      return firstFailure == nil ? value : nil
    } catch {
      let error = ArchiveError.wrap(error)
      guard error.isOfElement else { throw error }
      return nil
    }
  }
}

extension ArchiveError {
  /// Whether the error is limited to one element of a list, so the element can be skipped. A mistake in a declaration or an exceeded limit
  /// would also affect all later elements.
  var isOfElement: Bool {
    switch code {
    case .limitExceeded, .invalidSchema, .invalidMapping, .invalidMigration: false
    default: true
    }
  }
}
