internal import Foundation
internal import StrataCore

/// Tracks whether a store is open and which threads are running its transactions.
///
/// GRDB terminates the program if a thread that runs a transaction waits for a second transaction, because the thread would
/// deadlock. The store uses this object to throw an error instead.
final class StoreUse: Sendable {
  enum Access: CaseIterable { case read, write }

  private struct Run: Hashable {
    let access: Access
    let thread: UInt
  }

  private struct State {
    var isClosed = false
    var running: [Run: Int] = [:]
  }

  private let state = Mutex(State())

  func close() { state.withLock { $0.isClosed = true } }

  /// - Throws: ``StoreError`` with the code `invalid` if the store was closed.
  func checkOpen() throws {
    guard !state.withLock({ $0.isClosed }) else {
      throw StoreError(.invalid, "the store is closed; open the store again")
    }
  }

  /// Checks whether a new transaction can begin on this thread.
  ///
  /// - Parameter sharesConnection: whether reads and writes use the same connection.
  /// - Throws: ``StoreError`` with the code `invalid` if the store was closed, or if a transaction that is already running on
  ///   this thread would block the new transaction.
  func check(_ access: Access, sharesConnection: Bool) throws {
    try checkOpen()
    let thread = Self.thread
    let isBusy = state.withLock { state in
      Access.allCases.contains {
        ($0 == access || sharesConnection) && state.running[Run(access: $0, thread: thread)] != nil
      }
    }
    guard !isBusy else {
      throw StoreError(
        .invalid,
        "a transaction of the store is already running on this thread; use its StoreTransaction instead of the store")
    }
  }

  /// Runs `body`. While `body` runs, this thread is recorded as running a transaction.
  func run<R>(_ access: Access, _ body: () throws -> R) rethrows -> R {
    let run = Run(access: access, thread: Self.thread)
    state.withLock { $0.running[run, default: 0] += 1 }
    defer {
      state.withLock { $0.running[run] = $0.running[run].flatMap { $0 > 1 ? $0 - 1 : nil } }
    }
    return try body()
  }

  private static var thread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}
