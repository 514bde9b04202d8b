extension Transformer {
  /// A transformer that applies this transformer to optionals. Nil stays nil.
  public var optional: Transformer<Input?, Output?> {
    lifted { one, input in try input.map { try one.transform($0) } }
  }

  /// A transformer that applies this transformer to each element of an array. The number and order of the elements do
  /// not change.
  ///
  /// The path of an error contains the index of the element. For arrays with nulls, use ``optional`` first to keep the
  /// nulls, or ``arrayDroppingNulls`` to drop them.
  public var array: Transformer<[Input], [Output]> {
    lifted { one, inputs in try Self.mapped(inputs) { (input) throws(TransformError) in try one.transform(input) } }
  }

  /// A transformer that applies this transformer to each element of an array. Nulls are dropped.
  public var arrayDroppingNulls: Transformer<[Input?], [Output]> {
    lifted { one, inputs in
      try Self.mapped(inputs) { (input) throws(TransformError) in
        guard let input else { return Output?.none }
        return try one.transform(input)
      }.compactMap(\.self)
    }
  }

  /// A transformer that applies this transformer to each value of a dictionary. The path of an error contains the key.
  public var dictionaryValues: Transformer<[String: Input], [String: Output]> {
    lifted { one, dictionary in
      // The values are converted in the order of their keys, so that the same error is thrown each time if several
      // values fail.
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
  /// A transformer that applies this transformer to each element of a set. Elements that become equal are merged into
  /// one.
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

  /// A transformer that applies this transformer to optionals. Nil stays nil in both directions.
  public var optional: ReversibleTransformer<Input?, Output?> { both(forward.optional, backward.optional) }

  /// A transformer that applies this transformer to each element of an array. The path of an error contains the index
  /// of the element.
  public var array: ReversibleTransformer<[Input], [Output]> { both(forward.array, backward.array) }

  /// A transformer that applies this transformer to each element of an array. Nulls are dropped. The reverse direction
  /// creates no nulls.
  public var arrayDroppingNulls: ReversibleTransformer<[Input?], [Output]> {
    let backward = backward.array
    return both(forward.arrayDroppingNulls, Transformer(ofObjects: { try backward.transform($0) }))
  }

  /// A transformer that applies this transformer to each value of a dictionary. The path of an error contains the key.
  public var dictionaryValues: ReversibleTransformer<[String: Input], [String: Output]> {
    both(forward.dictionaryValues, backward.dictionaryValues)
  }
}

extension ReversibleTransformer where Input: Hashable & SendableMetatype, Output: Hashable & SendableMetatype {
  /// A transformer that applies this transformer to each element of a set. Elements that become equal are merged into
  /// one.
  public var set: ReversibleTransformer<Set<Input>, Set<Output>> { both(forward.set, backward.set) }
}
