/// How a transformer converts a value that is not in its table.
public enum UnknownValuePolicy<From: Sendable, To: Sendable>: Sendable {
  /// Throws ``TransformError``.
  case fail
  /// Uses the given value as the result.
  case use(To)
  /// Computes the result from the unknown value. For example, the result can be an enum case that contains the unknown string.
  case make(@Sendable (From) throws -> To)

  fileprivate func value(for unknown: From) throws -> To {
    switch self {
    case .fail:
      throw TransformError(
        "the value is not in the conversion table; add it to the table, or pass a policy for unknown values",
        input: unknown)
    case .use(let value): return value
    case .make(let make): return try make(unknown)
    }
  }
}

extension ReversibleTransformer where Input: Hashable & Sendable, Output: Hashable & Sendable {
  /// Converts values with a table. If several inputs have the same output, the reverse conversion returns the first of
  /// these inputs.
  ///
  ///     .values(["open": .open, "opened": .open, "closed": .closed], unknown: .use(.open))
  ///
  /// - Parameters:
  ///   - table: the inputs with their outputs. If an input has two different outputs, JSON adapters and stores reject the table, and every
  ///     conversion throws an error.
  ///   - unknown: how an input that is not in the table is converted.
  ///   - unknownReverse: how an output that is not in the table is converted back.
  public static func values(
    _ table: KeyValuePairs<Input, Output>, unknown: UnknownValuePolicy<Input, Output> = .fail,
    unknownReverse: UnknownValuePolicy<Output, Input> = .fail
  ) -> Self {
    values(Array(table), unknown, unknownReverse)
  }

  fileprivate static func values(
    _ table: [(key: Input, value: Output)], _ unknown: UnknownValuePolicy<Input, Output>,
    _ unknownReverse: UnknownValuePolicy<Output, Input>
  ) -> Self {
    var forward: [Input: Output] = [:]
    var backward: [Output: Input] = [:]
    var problem: String?
    for (spelling, meaning) in table {
      if let other = forward.updateValue(meaning, forKey: spelling), other != meaning {
        problem = "the conversion table has two different outputs for the same input; remove one of them"
      }
      if backward[meaning] == nil { backward[meaning] = spelling }
    }
    let (meanings, spellings, mistake) = (forward, backward, problem)
    var transformer = Self(
      { spelling in
        if let mistake { throw TransformError(mistake, input: spelling) }
        return try meanings[spelling] ?? unknown.value(for: spelling)
      },
      reverse: { meaning in
        if let mistake { throw TransformError(mistake, input: meaning) }
        return try spellings[meaning] ?? unknownReverse.value(for: meaning)
      })
    transformer.problem = problem
    return transformer
  }
}

extension ReversibleTransformer
where
  Output: RawRepresentable & CaseIterable & Hashable & Sendable, Input == Output.RawValue, Input: Hashable & Sendable
{
  /// Converts between raw values and the cases of an enum. Raw values in `aliases` are read but never written.
  ///
  ///     .cases(State.self, aliases: ["opened": .open], unknown: .use(.open))
  public static func cases(
    _ type: Output.Type = Output.self, aliases: KeyValuePairs<Input, Output> = [:],
    unknown: UnknownValuePolicy<Input, Output> = .fail
  ) -> Self {
    values(Output.allCases.map { ($0.rawValue, $0) } + Array(aliases), unknown, .fail)
  }
}
