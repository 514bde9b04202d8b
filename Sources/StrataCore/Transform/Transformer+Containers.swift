extension Transformer {
  /// This transformer for optionals: nil stays nil.
  public var optional: Transformer<Input?, Output?> {
    lifted { one, input in try input.map { try one.transform($0) } }
  }

  /// This transformer for arrays, applied to each element. The number and order of the elements stay the same.
  ///
  /// An error has the index of the element in its path. For arrays with nulls, use ``optional`` first to keep the
  /// nulls, or ``arrayDroppingNulls``.
  public var array: Transformer<[Input], [Output]> {
    lifted { one, inputs in try Self.mapped(inputs) { (input) throws(TransformError) in try one.transform(input) } }
  }

  /// This transformer for arrays with nulls, which are dropped.
  public var arrayDroppingNulls: Transformer<[Input?], [Output]> {
    lifted { one, inputs in
      try Self.mapped(inputs) { (input) throws(TransformError) in
        guard let input else { return Output?.none }
        return try one.transform(input)
      }.compactMap(\.self)
    }
  }

  /// This transformer for the values of dictionaries. An error has the key in its path.
  public var dictionaryValues: Transformer<[String: Input], [String: Output]> {
    lifted { one, dictionary in
      // In the order of the keys, so that the same one of several errors is thrown each time.
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
  /// This transformer for sets. Elements that become equal become one.
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

  /// This transformer for optionals: nil stays nil in both directions.
  public var optional: ReversibleTransformer<Input?, Output?> { both(forward.optional, backward.optional) }

  /// This transformer for arrays, applied to each element. An error has the index of the element in its path.
  public var array: ReversibleTransformer<[Input], [Output]> { both(forward.array, backward.array) }

  /// This transformer for arrays with nulls, which are dropped. In reverse, there are none.
  public var arrayDroppingNulls: ReversibleTransformer<[Input?], [Output]> {
    let backward = backward.array
    return both(forward.arrayDroppingNulls, Transformer(ofObjects: { try backward.transform($0) }))
  }

  /// This transformer for the values of dictionaries. An error has the key in its path.
  public var dictionaryValues: ReversibleTransformer<[String: Input], [String: Output]> {
    both(forward.dictionaryValues, backward.dictionaryValues)
  }
}

extension ReversibleTransformer where Input: Hashable & SendableMetatype, Output: Hashable & SendableMetatype {
  /// This transformer for sets. Elements that become equal become one.
  public var set: ReversibleTransformer<Set<Input>, Set<Output>> { both(forward.set, backward.set) }
}
