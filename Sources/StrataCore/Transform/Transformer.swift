/// A function from one type to another that may fail, as a value: it goes one way.
///
///     let length = Transformer<String, Int> { $0.count }
///     try length.transform("four")        // 4
///
/// A transformer that also goes back is a ``ReversibleTransformer``, a type of its own: what must be reversible cannot
/// be given one that is not.
public struct Transformer<Input: Sendable, Output: Sendable>: Sendable {
  private let body: @Sendable (Input) throws -> Output

  /// A transformer of a function.
  public init(_ transform: @escaping @Sendable (Input) throws -> Output) { body = transform }

  /// The output for an input.
  ///
  /// - Throws: ``TransformError``, which holds the input, and the error that the function threw.
  public func transform(_ input: Input) throws(TransformError) -> Output {
    do { return try body(input) } catch { throw .wrapping(error, input: input) }
  }

  /// This transformer, and another one on what it yields.
  public func then<Next>(_ next: Transformer<Output, Next>) -> Transformer<Input, Next> {
    Transformer<Input, Next> { try next.transform(transform($0)) }
  }

  /// This transformer, and another one on what it yields.
  public func then<Next>(_ next: ReversibleTransformer<Output, Next>) -> Transformer<Input, Next> {
    then(next.forward)
  }
}
