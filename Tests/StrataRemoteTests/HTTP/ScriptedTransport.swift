import Foundation
import StrataCore

@testable import StrataRemote

/// A transport that gets its responses from a closure instead of the network.
final class ScriptedTransport: HTTPTransport {
  typealias Script = @Sendable (HTTPRequest, _ number: Int) async throws -> HTTPResponse

  private let script: Script
  private let sent = Mutex<[HTTPRequest]>([])

  init(_ script: @escaping Script) { self.script = script }

  /// The requests in the order in which they were sent.
  var requests: [HTTPRequest] { sent.withLock { $0 } }

  func send(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse {
    let number = sent.withLock {
      $0.append(request)
      return $0.count
    }
    return try await script(request, number)
  }
}

/// A clock that records waits and returns from them at once.
final class ScriptedClock: Sendable {
  private let state = Mutex((now: Date(timeIntervalSince1970: 784_111_777), waits: [Duration]()))

  var waits: [Duration] { state.withLock { $0.waits } }
  var now: Date { state.withLock { $0.now } }

  func advance(_ seconds: Double) { state.withLock { $0.now.addTimeInterval(seconds) } }

  var clock: RemoteClock {
    RemoteClock(
      now: { self.state.withLock { $0.now } },
      sleep: { duration in
        try Task.checkCancellation()
        self.state.withLock {
          $0.waits.append(duration)
          $0.now.addTimeInterval(Double(duration.components.seconds))
        }
      },
      random: { 0.5 })
  }
}

/// Suspends tasks until it is opened.
final class Gate: Sendable {
  private let shared = SharedTask<Void>(isCancelledWithTheLast: false)

  func open() { shared.start {} }

  /// Throws `CancellationError` if the caller is cancelled before the gate opens.
  func wait() async throws {
    guard let place = shared.reserve() else { return }
    try await shared.value(at: place)
  }
}

/// Lets other tasks run until a condition holds. Returns `false` if it does not hold after many turns.
func eventually(_ isSo: () async -> Bool) async -> Bool {
  for _ in 0..<2000 {
    if await isSo() { return true }
    // Only cancellation ends the sleep early, and it ends the test as well.
    try? await Task.sleep(for: .milliseconds(2))
  }
  return false
}
