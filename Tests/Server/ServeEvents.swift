internal import Dispatch
internal import StrataCore

/// Queues the events of a running server in order. Only the command's thread, which receives them, writes to the console.
final class ServeEvents: Sendable {
  enum Event: Sendable {
    /// The port on which the server listens.
    case listening(UInt16)
    /// A line of the log.
    case answered(String)
    /// The server should stop.
    case interrupted
    /// The server has stopped. If it was not asked to stop, there is an error.
    case ended((any Error)?)
  }

  private let events = Mutex<[Event]>([])
  private let count = DispatchSemaphore(value: 0)

  func send(_ event: Event) {
    events.withLock { $0.append(event) }
    count.signal()
  }

  /// Waits for the next event on the current thread.
  func next() -> Event {
    count.wait()
    return events.withLock { $0.removeFirst() }
  }
}
