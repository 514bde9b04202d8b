/// A call whose instructions are counted.
struct Benchmark {
  let name: String
  /// How often the call is made while it is counted. The script divides by it.
  let calls: Int
  /// Makes everything that the call needs, checks what it gives, and returns the call.
  let prepare: () throws -> () throws -> Void

  init(_ name: String, calls: Int = 1, prepare: @escaping () throws -> () throws -> Void) {
    (self.name, self.calls, self.prepare) = (name, calls, prepare)
  }

  func run() throws {
    let call = try prepare()
    // Caches and pools are full after the first calls.
    for _ in 0..<3 { try call() }
    (Measured.call, Measured.calls) = (call, calls)
    // By the pointer, since a direct call would not pass the function that has the name.
    let measured: @convention(c) () -> Void = measured
    measured()
    if let failure = Measured.failure { throw failure }
    print("calls \(calls)")
  }
}

/// What the measured function calls, since it takes no arguments.
private enum Measured {
  nonisolated(unsafe) static var call: (() throws -> Void)?
  nonisolated(unsafe) static var calls = 0
  nonisolated(unsafe) static var failure: (any Error)?
}

/// What is counted: callgrind collects while this runs.
@_cdecl("strata_measured") @inline(never)
func measured() {
  guard let call = Measured.call else { return }
  do { for _ in 0..<Measured.calls { try call() } } catch { Measured.failure = error }
}

/// Why the program ends with an error.
struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Ends the program where a benchmark does not give what it should.
func check(_ isRight: Bool, _ claim: String) throws {
  guard isRight else { throw Failure("wrong result: \(claim)") }
}

/// Keeps the optimizer from dropping work whose result is not used.
@inline(never)
func consume<T>(_ value: T) { withExtendedLifetime(value) {} }
