internal import Dispatch
internal import StrataCore

/// What happens while a server runs, in its order, for the thread of the command: it alone writes to the console.
final class ServeEvents: Sendable {
  enum Event: Sendable {
    /// The port at which requests are taken.
    case listening(UInt16)
    /// A line of the log.
    case answered(String)
    /// Somebody wants the server to stop.
    case interrupted
    /// The server has stopped; with an error where nobody wanted that.
    case ended((any Error)?)
  }

  private let events = Mutex<[Event]>([])
  private let count = DispatchSemaphore(value: 0)

  func send(_ event: Event) {
    events.withLock { $0.append(event) }
    count.signal()
  }

  /// The next event; waits for it on this thread.
  func next() -> Event {
    count.wait()
    return events.withLock { $0.removeFirst() }
  }
}
