internal import Foundation
internal import StrataCore

/// Records whether a store is open, and which threads run a transaction of it. A transaction that waited for another one on its own
/// thread would never begin, and GRDB ends the program.
final class StoreUse: Sendable {
  enum Kind: Sendable { case read, write }

  private struct State {
    var isClosed = false
    var reading: [UInt: Int] = [:]
    var writing: [UInt: Int] = [:]
  }

  private let state = Mutex(State())

  func close() { state.withLock { $0.isClosed = true } }

  /// - Throws: ``StoreError`` with the code `invalid` if the store was closed.
  func checkOpen() throws {
    guard !state.withLock({ $0.isClosed }) else { throw StoreError(.invalid, "the store was closed; open it again") }
  }

  /// - Parameter sharesConnection: whether reads and writes use the same connection.
  /// - Throws: ``StoreError`` with the code `invalid` if the store was closed, or if this thread has a transaction that a new one would
  ///   wait for.
  func check(_ kind: Kind, sharesConnection: Bool) throws {
    try checkOpen()
    let thread = Self.thread
    let isBusy = state.withLock { state in
      switch kind {
      case .read: state.reading[thread] != nil || sharesConnection && state.writing[thread] != nil
      case .write: state.writing[thread] != nil || sharesConnection && state.reading[thread] != nil
      }
    }
    guard !isBusy else {
      throw StoreError(
        .invalid, "a transaction of the store runs on this thread already; use the StoreTransaction that it was given")
    }
  }

  /// Runs a transaction on this thread.
  func run<R>(_ kind: Kind, _ body: () throws -> R) rethrows -> R {
    let thread = Self.thread
    count(kind, thread, 1)
    defer { count(kind, thread, -1) }
    return try body()
  }

  private func count(_ kind: Kind, _ thread: UInt, _ change: Int) {
    state.withLock { state in
      func add(_ counts: inout [UInt: Int]) {
        let count = counts[thread, default: 0] + change
        counts[thread] = count == 0 ? nil : count
      }
      switch kind {
      case .read: add(&state.reading)
      case .write: add(&state.writing)
      }
    }
  }

  private static var thread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}
