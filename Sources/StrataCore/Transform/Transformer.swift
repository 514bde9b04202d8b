/// A function from one type to another that may fail, as a value: it goes one way.
///
///     let length = Transformer<String, Int> { $0.count }
///     try length.transform("four")        // 4
///
/// A transformer that also goes back is a ``ReversibleTransformer``, a type of its own: what must be reversible cannot
/// be given one that is not.
public struct Transformer<Input, Output>: Sendable {
  private let body: @Sendable (Input) throws -> Output
  /// The same function with an output on which no hooks and rules of models ran; `nil` where it runs none.
  private let unfinishedBody: (@Sendable (Input) throws -> Output)?
  /// An input as errors hold it; `nil` where it may not leave its task, or where each error has its own.
  private let kept: (@Sendable (Input) -> any Sendable)?

  /// A transformer of a function.
  public init(_ transform: @escaping @Sendable (Input) throws -> Output) where Input: Sendable {
    self.init(transform, unfinished: nil)
  }

  /// A transformer of a function whose input is an object that is not `Sendable`: its errors do not hold the input.
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

  /// What a field reads with, which makes its own models of the output: their hooks and rules come then, once.
  var unfinished: Transformer {
    unfinishedBody.map { Transformer($0, unfinished: nil, kept: kept) } ?? self
  }

  /// A transformer that uses this one.
  func lifted<In, Out>(_ body: @escaping @Sendable (Transformer, In) throws -> Out) -> Transformer<In, Out> {
    // What this one throws has its input already.
    guard unfinishedBody != nil else {
      return Transformer<In, Out>({ try body(self, $0) }, unfinished: nil, kept: nil)
    }
    let unfinished = unfinished
    return Transformer<In, Out>({ try body(self, $0) }, unfinished: { try body(unfinished, $0) }, kept: nil)
  }

  /// The output for an input.
  ///
  /// - Throws: ``TransformError``, which holds the input, and the error that the function threw.
  public func transform(_ input: Input) throws(TransformError) -> Output {
    do { return try body(input) } catch { throw .wrapping(error, input: kept?(input)) }
  }

  /// This transformer, and another one on what it yields.
  public func then<Next>(_ next: Transformer<Output, Next>) -> Transformer<Input, Next> {
    // What the next one is given is finished: only what comes out in the end is made once more.
    next.lifted { next, input in try next.transform(transform(input)) }
  }

  /// This transformer, and another one on what it yields.
  public func then<Next>(_ next: ReversibleTransformer<Output, Next>) -> Transformer<Input, Next> {
    then(next.forward)
  }
}
