import StrataTestSupport
import Testing

/// Runs the body in a hundred tasks at once, which all get the same value; a task that throws is recorded.
///
/// The thread sanitizer sees what two threads do without an order between them, so the tasks need not collide in time.
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
