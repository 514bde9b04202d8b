import RegexBuilder
import Testing

@testable import StrataCore

/// An object that two threads must not use at once, like a formatter. The sanitizer instruments this class; Foundation is not
/// instrumented.
private final class Turnstile {
  private var count = 0

  func pass() -> Int {
    count += 1
    return count
  }
}

/// A regular expression component with mutable state.
private struct Counting: CustomConsumingRegexComponent {
  typealias RegexOutput = Substring
  let turnstile: Turnstile

  func consuming(
    _ input: String, startingAt index: String.Index, in bounds: Range<String.Index>
  ) throws -> (upperBound: String.Index, output: Substring)? {
    turnstile.pass() > 0 ? (bounds.upperBound, input[index..<bounds.upperBound]) : nil
  }
}

@Suite("Shared object Concurrency")
struct SharedObjectConcurrencyTests {
  @Test("X-1, P-8: only one task at a time uses a shared formatter")
  func formatter() async {
    let formatter = Mutex(Turnstile())
    await hundredTasks(share: formatter, rounds: 5) { formatter, _ in _ = formatter.withLock { $0.pass() } }
    #expect(formatter.withLock { $0.pass() } == 501)
  }

  @Test("X-1: only one task at a time uses a shared regular expression, because it may contain stateful code")
  func expression() async {
    // The test verifies that only one task at a time uses these objects.
    nonisolated(unsafe) let turnstile = Turnstile()
    nonisolated(unsafe) let pattern = Regex { Counting(turnstile: turnstile) }
    let check = ValidationCheck<String>.matches(pattern)
    await hundredTasks(share: check, rounds: 5) { check, _ in try check.run("any text") }
    #expect(turnstile.pass() == 501)
  }
}
