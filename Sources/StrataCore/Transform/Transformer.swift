/// A one-way conversion from one type to another. The conversion may throw.
///
///     let length = Transformer<String, Int> { $0.count }
///     try length.transform("four")        // 4
///
/// For a conversion in both directions, use ``ReversibleTransformer``. Because it is a separate type, a one-way
/// transformer cannot be passed to code that needs the reverse direction.
public struct Transformer<Input, Output>: Sendable {
  private let body: @Sendable (Input) throws -> Output
  /// A variant of `body` that does not run the hooks and validation rules of models in the output; `nil` if `body`
  /// never runs hooks or rules.
  private let unfinishedBody: (@Sendable (Input) throws -> Output)?
  /// Returns the input to include in this transformer's errors; `nil` if the input is not `Sendable`, or if the errors of `body` already
  /// contain an input.
  private let kept: (@Sendable (Input) -> any Sendable)?

  /// Creates a transformer from a function.
  public init(_ transform: @escaping @Sendable (Input) throws -> Output) where Input: Sendable {
    self.init(transform, unfinished: nil)
  }

  /// Creates a transformer from a function whose input is not `Sendable`. Errors do not contain the input.
  public init(ofObjects transform: @escaping @Sendable (Input) throws -> Output) {
    self.init(transform, unfinished: nil, kept: nil)
  }

  init(
    _ transform: @escaping @Sendable (Input) throws -> Output,
    unfinished: (@Sendable (Input) throws -> Output)?
  ) where Input: Sendable {
    self.init(transform, unfinished: unfinished, kept: { $0 })
  }

  private init(
    _ transform: @escaping @Sendable (Input) throws -> Output,
    unfinished: (@Sendable (Input) throws -> Output)?, kept: (@Sendable (Input) -> any Sendable)?
  ) {
    (body, unfinishedBody, self.kept) = (transform, unfinished, kept)
  }

  /// The transformer that fields use when they are decoded. It does not run the hooks and validation rules of models in its output, because
  /// the field decodes the output again and then runs them.
  var unfinished: Transformer {
    unfinishedBody.map { Transformer($0, unfinished: nil, kept: kept) } ?? self
  }

  /// Returns a transformer that calls `body` with this transformer and the input. The ``unfinished`` variant of the result calls `body`
  /// with the ``unfinished`` variant of this transformer instead.
  func lifted<In, Out>(_ body: @escaping @Sendable (Transformer, In) throws -> Out) -> Transformer<In, Out> {
    guard unfinishedBody != nil else {
      return Transformer<In, Out>({ try body(self, $0) }, unfinished: nil, kept: nil)
    }
    let unfinished = unfinished
    return Transformer<In, Out>({ try body(self, $0) }, unfinished: { try body(unfinished, $0) }, kept: nil)
  }

  /// Converts an input to an output.
  ///
  /// - Throws: ``TransformError`` with the input and the error that the function threw.
  public func transform(_ input: Input) throws(TransformError) -> Output {
    do { return try body(input) } catch { throw .wrapping(error, input: kept?(input)) }
  }

  /// Returns a transformer that applies this transformer and then `next`.
  public func then<Next>(_ next: Transformer<Output, Next>) -> Transformer<Input, Next> {
    // A field uses the ``unfinished`` variant of `next`, but not of this transformer. The hooks and rules of models in the intermediate
    // value therefore always run here, and the field itself runs those of models in the final output.
    next.lifted { next, input in try next.transform(transform(input)) }
  }

  /// Returns a transformer that applies this transformer and then the forward direction of `next`.
  public func then<Next>(_ next: ReversibleTransformer<Output, Next>) -> Transformer<Input, Next> {
    then(next.forward)
  }
}
