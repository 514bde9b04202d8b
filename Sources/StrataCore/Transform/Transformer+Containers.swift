extension Transformer {
  /// The same for optionals: nil stays nil.
  public var optional: Transformer<Input?, Output?> {
    lifted { one, input in try input.map { try one.transform($0) } }
  }

  /// The same for arrays, element by element: as many as before, in their order.
  ///
  /// An error has the index of the element in its path. For arrays with nulls in them use ``optional`` first, which
  /// keeps them, or ``arrayDroppingNulls``.
  public var array: Transformer<[Input], [Output]> {
    lifted { one, inputs in try Self.mapped(inputs) { (input) throws(TransformError) in try one.transform(input) } }
  }

  /// The same for arrays with nulls in them, which go.
  public var arrayDroppingNulls: Transformer<[Input?], [Output]> {
    lifted { one, inputs in
      try Self.mapped(inputs) { (input) throws(TransformError) in
        guard let input else { return Output?.none }
        return try one.transform(input)
      }.compactMap(\.self)
    }
  }

  /// The same for the values of dictionaries; an error has the key in its path.
  public var dictionaryValues: Transformer<[String: Input], [String: Output]> {
    lifted { one, dictionary in
      // In the order of the keys, so that of several errors always the same one is thrown.
      var result: [String: Output] = [:]
      for (key, value) in dictionary.sorted(by: { $0.key < $1.key }) {
        do throws(TransformError) { result[key] = try one.transform(value) } catch {
          throw error.prefixed(by: .key(key))
        }
      }
      return result
    }
  }

  private static func mapped<From, To>(
    _ inputs: [From], _ transform: (From) throws(TransformError) -> To
  ) throws(TransformError) -> [To] {
    var outputs: [To] = []
    outputs.reserveCapacity(inputs.count)
    for (index, input) in inputs.enumerated() {
      do throws(TransformError) { outputs.append(try transform(input)) } catch {
        throw error.prefixed(by: .index(index))
      }
    }
    return outputs
  }
}

extension Transformer where Input: Hashable & SendableMetatype, Output: Hashable & SendableMetatype {
  /// The same for sets. Elements that become equal become one.
  public var set: Transformer<Set<Input>, Set<Output>> {
    lifted { one, inputs in try Set(inputs.map { try one.transform($0) }) }
  }
}

extension ReversibleTransformer {
  private func both<In, Out>(
    _ forward: Transformer<In, Out>, _ backward: Transformer<Out, In>
  ) -> ReversibleTransformer<In, Out> {
    var both = ReversibleTransformer<In, Out>(forward, reverse: backward)
    both.problem = problem
    return both
  }

  /// The same for optionals: nil stays nil, both ways.
  public var optional: ReversibleTransformer<Input?, Output?> { both(forward.optional, backward.optional) }

  /// The same for arrays, element by element. An error has the index of the element in its path.
  public var array: ReversibleTransformer<[Input], [Output]> { both(forward.array, backward.array) }

  /// The same for arrays with nulls in them, which go; the way back writes none.
  public var arrayDroppingNulls: ReversibleTransformer<[Input?], [Output]> {
    let backward = backward.array
    return both(forward.arrayDroppingNulls, Transformer(ofObjects: { try backward.transform($0) }))
  }

  /// The same for the values of dictionaries; an error has the key in its path.
  public var dictionaryValues: ReversibleTransformer<[String: Input], [String: Output]> {
    both(forward.dictionaryValues, backward.dictionaryValues)
  }
}

extension ReversibleTransformer where Input: Hashable & SendableMetatype, Output: Hashable & SendableMetatype {
  /// The same for sets. Elements that become equal become one.
  public var set: ReversibleTransformer<Set<Input>, Set<Output>> { both(forward.set, backward.set) }
}
