/// A function from one type to another and the one back.
///
///     let flag = ReversibleTransformer<String, Bool>({ $0 == "Y" }, reverse: { $0 ? "Y" : "N" })
///     try flag.reverse(true)              // "Y"
///     try flag.inverted.transform(true)   // "Y"
public struct ReversibleTransformer<Input, Output>: Sendable {
  /// The way from input to output alone.
  public let forward: Transformer<Input, Output>
  /// The way from output to input alone.
  public let backward: Transformer<Output, Input>
  /// What is wrong with the declaration; an adapter that is given the transformer refuses it.
  package var problem: String?

  /// A transformer of two functions.
  public init(
    _ transform: @escaping @Sendable (Input) throws -> Output, reverse: @escaping @Sendable (Output) throws -> Input
  ) where Input: Sendable, Output: Sendable {
    self.init(Transformer(transform), reverse: Transformer(reverse))
  }

  /// A transformer of two functions to and from objects that are not `Sendable`: errors of the way back do not hold them.
  public init(
    toObjects transform: @escaping @Sendable (Input) throws -> Output,
    reverse: @escaping @Sendable (Output) throws -> Input
  ) where Input: Sendable {
    self.init(Transformer(transform), reverse: Transformer(ofObjects: reverse))
  }

  /// A transformer of two that go one way each.
  public init(_ forward: Transformer<Input, Output>, reverse backward: Transformer<Output, Input>) {
    self.forward = forward
    self.backward = backward
  }

  /// The output for an input.
  ///
  /// - Throws: ``TransformError``, which holds the input, and the error that the function threw.
  public func transform(_ input: Input) throws(TransformError) -> Output { try forward.transform(input) }

  /// The input for an output.
  ///
  /// - Throws: ``TransformError``, which holds the output, and the error that the function threw.
  public func reverse(_ output: Output) throws(TransformError) -> Input { try backward.transform(output) }

  /// The same two functions, with the directions swapped. Inverted twice, it is what it was.
  public var inverted: ReversibleTransformer<Output, Input> {
    var inverted = ReversibleTransformer<Output, Input>(backward, reverse: forward)
    inverted.problem = problem
    return inverted
  }

  /// This transformer, and another one on what it yields; backwards the other one comes first.
  public func then<Next>(_ next: ReversibleTransformer<Output, Next>) -> ReversibleTransformer<Input, Next> {
    var chained = ReversibleTransformer<Input, Next>(
      forward.then(next.forward), reverse: next.backward.then(backward))
    chained.problem = problem ?? next.problem
    return chained
  }

  /// This transformer, and another one on what it yields, which has no way back.
  public func then<Next>(_ next: Transformer<Output, Next>) -> Transformer<Input, Next> { forward.then(next) }
}

extension ReversibleTransformer where Input == Output, Input: Sendable {
  /// The same function both ways, as for what undoes itself.
  public init(both transform: @escaping @Sendable (Input) throws -> Output) {
    self.init(transform, reverse: transform)
  }
}
