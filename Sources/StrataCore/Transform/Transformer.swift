/// A one-way function between two types that may throw, as a value.
///
///     let length = Transformer<String, Int> { $0.count }
///     try length.transform("four")        // 4
///
/// A transformer with an inverse is a ``ReversibleTransformer``, which is a separate type: code that needs the inverse
/// cannot be given a transformer without one.
public struct Transformer<Input, Output>: Sendable {
  private let body: @Sendable (Input) throws -> Output
  /// The same function without the hooks and rules of models in the output; `nil` if it runs none.
  private let unfinishedBody: (@Sendable (Input) throws -> Output)?
  /// Returns the input for errors; `nil` if the input is not `Sendable`, or if each error already has its own.
  private let kept: (@Sendable (Input) -> any Sendable)?

  /// Creates a transformer from a function.
  public init(_ transform: @escaping @Sendable (Input) throws -> Output) where Input: Sendable {
    self.init(transform, unfinished: nil)
  }

  /// Creates a transformer from a function whose input is not `Sendable`. Its errors do not contain the input.
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

  /// The transformer for decoding a field. The field creates its own models from the output, and their hooks and rules
  /// run at that time only.
  var unfinished: Transformer {
    unfinishedBody.map { Transformer($0, unfinished: nil, kept: kept) } ?? self
  }

  /// Returns a transformer that uses this one.
  func lifted<In, Out>(_ body: @escaping @Sendable (Transformer, In) throws -> Out) -> Transformer<In, Out> {
    // Errors of this transformer already contain their input.
    guard unfinishedBody != nil else {
      return Transformer<In, Out>({ try body(self, $0) }, unfinished: nil, kept: nil)
    }
    let unfinished = unfinished
    return Transformer<In, Out>({ try body(self, $0) }, unfinished: { try body(unfinished, $0) }, kept: nil)
  }

  /// Returns the output for an input.
  ///
  /// - Throws: ``TransformError`` with the input and the error that the function threw.
  public func transform(_ input: Input) throws(TransformError) -> Output {
    do { return try body(input) } catch { throw .wrapping(error, input: kept?(input)) }
  }

  /// Applies another transformer to the output of this one.
  public func then<Next>(_ next: Transformer<Output, Next>) -> Transformer<Input, Next> {
    // Hooks and rules run on the input of the next transformer. Only the final output is created again.
    next.lifted { next, input in try next.transform(transform(input)) }
  }

  /// Applies another transformer to the output of this one.
  public func then<Next>(_ next: ReversibleTransformer<Output, Next>) -> Transformer<Input, Next> {
    then(next.forward)
  }
}
