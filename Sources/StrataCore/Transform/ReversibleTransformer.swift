/// A conversion between two types, with a function for each direction.
///
///     let flag = ReversibleTransformer<String, Bool>({ $0 == "Y" }, reverse: { $0 ? "Y" : "N" })
///     try flag.reverse(true)              // "Y"
///     try flag.inverted.transform(true)   // "Y"
public struct ReversibleTransformer<Input, Output>: Sendable {
  /// The transformer from input to output.
  public let forward: Transformer<Input, Output>
  /// The transformer from output to input.
  public let backward: Transformer<Output, Input>
  /// A mistake in the transformer's declaration, such as an empty date format; `nil` if there is none. JSON adapters and stores reject a
  /// transformer with a mistake.
  package var problem: String?

  /// Creates a transformer from two functions.
  public init(
    _ transform: @escaping @Sendable (Input) throws -> Output, reverse: @escaping @Sendable (Output) throws -> Input
  ) where Input: Sendable, Output: Sendable {
    self.init(Transformer(transform), reverse: Transformer(reverse))
  }

  /// Creates a transformer from two functions, for outputs that are not `Sendable`. Errors of `reverse` do not contain
  /// the rejected object.
  public init(
    toObjects transform: @escaping @Sendable (Input) throws -> Output,
    reverse: @escaping @Sendable (Output) throws -> Input
  ) where Input: Sendable {
    self.init(Transformer(transform), reverse: Transformer(ofObjects: reverse))
  }

  /// Creates a transformer from two one-way transformers.
  public init(_ forward: Transformer<Input, Output>, reverse backward: Transformer<Output, Input>) {
    self.forward = forward
    self.backward = backward
  }

  /// Converts an input to an output.
  ///
  /// - Throws: ``TransformError`` with the input and the error that the function threw.
  public func transform(_ input: Input) throws(TransformError) -> Output { try forward.transform(input) }

  /// Converts an output back to an input.
  ///
  /// - Throws: ``TransformError`` with the output and the error that the function threw.
  public func reverse(_ output: Output) throws(TransformError) -> Input { try backward.transform(output) }

  /// The same transformer with the directions swapped.
  public var inverted: ReversibleTransformer<Output, Input> {
    var inverted = ReversibleTransformer<Output, Input>(backward, reverse: forward)
    inverted.problem = problem
    return inverted
  }

  /// Returns a transformer that applies this transformer and then `next`. The reverse direction applies `next` first.
  public func then<Next>(_ next: ReversibleTransformer<Output, Next>) -> ReversibleTransformer<Input, Next> {
    var chained = ReversibleTransformer<Input, Next>(
      forward.then(next.forward), reverse: next.backward.then(backward))
    chained.problem = problem ?? next.problem
    return chained
  }

  /// Returns a one-way transformer that applies this transformer and then `next`.
  public func then<Next>(_ next: Transformer<Output, Next>) -> Transformer<Input, Next> { forward.then(next) }
}

extension ReversibleTransformer where Input == Output, Input: Sendable {
  /// Creates a transformer from a function that is its own inverse.
  public init(both transform: @escaping @Sendable (Input) throws -> Output) {
    self.init(transform, reverse: transform)
  }
}
