import Foundation
import StrataStore
import StrataTestSupport
import StrataCore
import Testing

/// Returns the store error that `body` throws. Records a failure if `body` throws no store error with the given code.
@discardableResult
func storeError<R>(
  _ code: StoreError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> R
) -> StoreError? {
  storeError(code, sourceLocation, Result(catching: body))
}

/// Like ``storeError(_:sourceLocation:_:)``, for asynchronous code.
@discardableResult
func storeErrorAsync<R>(
  _ code: StoreError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> R
) async -> StoreError? {
  do {
    return storeError(code, sourceLocation, Result<R, any Error>.success(try await body()))
  } catch { return storeError(code, sourceLocation, Result<R, any Error>.failure(error)) }
}

private func storeError<R>(
  _ code: StoreError.Code, _ sourceLocation: SourceLocation, _ result: Result<R, any Error>
) -> StoreError? {
  switch result {
  case .success: Issue.record("no error", sourceLocation: sourceLocation)
  case .failure(let error as StoreError):
    #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    return error
  case .failure(let error): Issue.record(error, sourceLocation: sourceLocation)
  }
  return nil
}

/// A clock whose time is set by tests.
final class Clock: Sendable {
  private let time: Mutex<Date>

  init(_ time: Date = Date(timeIntervalSince1970: 1_700_000_000)) { self.time = Mutex(time) }

  var now: Date {
    get { time.withLock { $0 } }
    set { time.withLock { $0 = newValue } }
  }

  var options: StoreOptions {
    var options = StoreOptions()
    options.clock = { self.now }
    return options
  }
}

extension SnapshotStore {
  convenience init() throws { try self.init(inMemory: StoreOptions()) }
}

/// A gate at which a thread waits until a test opens it.
final class Gate: Sendable {
  private let state = Mutex((isReached: false, isOpen: false))

  /// Waits until the gate is open.
  func pass() {
    state.withLock { $0.isReached = true }
    while !state.withLock({ $0.isOpen }) { Thread.sleep(forTimeInterval: 0.001) }
  }

  /// Waits until a thread has reached the gate.
  func reached() async {
    while !state.withLock({ $0.isReached }) {
      // If the test is cancelled, the sleep ends at once and the loop checks again.
      try? await Task.sleep(for: .milliseconds(1))
    }
  }

  func open() { state.withLock { $0.isOpen = true } }
}

extension StoreRevision {
  /// The names and values of all properties, including the private ones that `description` omits.
  var everything: String {
    Mirror(reflecting: self).children.map { "\($0.label ?? ""): \($0.value)" }.joined(separator: ", ")
  }
}
