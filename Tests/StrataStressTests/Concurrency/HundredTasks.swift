import StrataTestSupport
import Testing

/// Runs the body in a hundred concurrent tasks that share one value, and records every error that a task throws.
///
/// The thread sanitizer reports unordered accesses by two threads even if they don't happen at the same time.
func hundredTasks<Shared: Sendable>(
  share shared: Shared, rounds: Int = Effort.rounds(1, long: 5),
  _ body: @escaping @Sendable (Shared, _ task: Int) async throws -> Void
) async {
  await withTaskGroup(of: (any Error)?.self) { group in
    for task in 0..<100 {
      group.addTask {
        do {
          for _ in 0..<rounds { try await body(shared, task) }
          return nil
        } catch { return error }
      }
    }
    for await error in group {
      if let error { Issue.record(error) }
    }
  }
}
