extension ArrayType {
  /// The elements of which one of the array's can be made, and what was made of them where that is the result: nothing
  /// is made twice, and no hook runs twice.
  ///
  /// - Throws: what is wrong with the program or with the whole, and not with an element: see
  ///   ``ArchiveError/isOfElement``.
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

  /// Makes an element; `nil` for a type of which nothing is made.
  private static var maker: ((ArchiveValue, DecodingContext) throws -> Element?)? {
    if let type = TypeShape.archivable(Element.self) { return { try type.make(from: $0, in: $1) as? Element } }
    if let type = Element.self as? any Decodable.Type {
      return { try ValueCoding.make(type, from: $0, in: $1) as? Element }
    }
    return nil
  }
}

extension DecodingContext {
  /// What `make` makes, where that succeeds and breaks no rule. Nothing of it is held against what comes next.
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
  /// Whether an element of a list is to blame, so that leaving it out helps. It does not help where the model is declared
  /// wrongly, and where a limit is reached all that follows would be left out, too.
  var isOfElement: Bool {
    switch code {
    case .limitExceeded, .invalidSchema, .invalidMapping, .invalidMigration: false
    default: true
    }
  }
}
