import Foundation
import StrataStore
import StrataTestSupport
import Synchronization
import Testing

/// The store error with a code that `body` throws. Anything else is recorded as a failure.
@discardableResult
func storeError<R>(
  _ code: StoreError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> R
) -> StoreError? {
  do {
    _ = try body()
    Issue.record("no error", sourceLocation: sourceLocation)
    return nil
  } catch let error as StoreError {
    #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    return error
  } catch {
    Issue.record(error, sourceLocation: sourceLocation)
    return nil
  }
}

/// A clock that tests set.
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
