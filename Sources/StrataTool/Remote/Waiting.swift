internal import Dispatch
internal import Synchronization

/// Runs what is asynchronous on other threads, and waits for it: commands are not.
func waiting<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) throws -> R {
  let done = DispatchSemaphore(value: 0)
  let result = Mutex<Result<R, any Error>?>(nil)
  Task.detached {
    do {
      let value = try await body()
      result.withLock { $0 = .success(value) }
    } catch { result.withLock { $0 = .failure(error) } }
    done.signal()
  }
  done.wait()
  guard let result = result.withLock({ $0 }) else { throw ToolError("the command ended without a result") }
  return try result.get()
}
