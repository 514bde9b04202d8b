/// A call whose instructions are counted.
struct Benchmark {
  let name: String
  /// The number of calls during the measurement. The script divides by it.
  let calls: Int
  /// Creates everything that the call needs, checks its result, and returns the call.
  let prepare: () throws -> () throws -> Void

  init(_ name: String, calls: Int = 1, prepare: @escaping () throws -> () throws -> Void) {
    (self.name, self.calls, self.prepare) = (name, calls, prepare)
  }

  func run() throws {
    let call = try prepare()
    // The first calls fill caches and pools, so they aren't measured.
    for _ in 0..<3 { try call() }
    (Measured.call, Measured.calls) = (call, calls)
    // Calls the function through a pointer, because a direct call would bypass its exported symbol, which callgrind looks for.
    let measured: @convention(c) () -> Void = measured
    measured()
    if let failure = Measured.failure { throw failure }
    print("calls \(calls)")
  }
}

/// Holds the call that ``measured()`` makes and the error that it catches, because that function takes no arguments and cannot throw.
private enum Measured {
  nonisolated(unsafe) static var call: (() throws -> Void)?
  nonisolated(unsafe) static var calls = 0
  nonisolated(unsafe) static var failure: (any Error)?
}

/// The measured function. callgrind counts instructions only while it runs.
@_cdecl("strata_measured") @inline(never)
func measured() {
  guard let call = Measured.call else { return }
  do { for _ in 0..<Measured.calls { try call() } } catch { Measured.failure = error }
}

/// An error that ends the program.
struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Ends the program if a benchmark has a wrong result.
func check(_ isRight: Bool, _ claim: String) throws {
  guard isRight else { throw Failure("wrong result: \(claim)") }
}

/// Keeps the optimizer from removing work whose result is unused.
@inline(never)
func consume<T>(_ value: T) { withExtendedLifetime(value) {} }
