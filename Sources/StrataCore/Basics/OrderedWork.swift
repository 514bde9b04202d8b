import Foundation

/// A bounded queue of jobs that run on several threads. Results are taken in the order in which the jobs were added.
///
/// The owner's thread is one of the threads. It runs each waiting job itself before it waits for a result, and it waits only for a job
/// that is running. So the owner makes progress even if no other thread ever runs a job, and it may be a thread of Swift's pool.
///
/// The other threads are tasks, which have the priority and the task-local values of the owner when it added a job. When the queue goes away,
/// waiting jobs are dropped. Running jobs end, and nobody receives their results.
struct OrderedWork<Output: Sendable>: ~Copyable {
  typealias Job = @Sendable () throws -> Output

  /// The weight of waiting jobs for which another thread is woken. Waking it costs more than lighter jobs do.
  private static var wakingWeight: Int { 8 << 10 }
  /// The weight of all jobs for each thread, beyond which none is added. One job may weigh more.
  private static var weightPerThread: Int { 1 << 20 }

  private let queue = Queue()
  private let threads: Int

  /// - Parameter threads: how many threads run jobs at once, the owner's among them. With one, all jobs run on the owner's.
  init(threads: Int) { self.threads = max(1, threads) }

  deinit { queue.removeAll() }

  var isEmpty: Bool { queue.state.withLock { $0.jobs.isEmpty } }

  /// Whether a job may be added.
  var hasRoom: Bool {
    queue.state.withLock { state in
      // With two jobs a thread, the others go on while the owner runs a job itself.
      state.jobs.isEmpty
        || threads > 1 && state.jobs.count < 2 * threads && state.weight < threads * Self.weightPerThread
    }
  }

  /// Adds a job at the end.
  ///
  /// - Parameter weight: about how many bytes the job holds or makes.
  func add(weight: Int, _ job: @escaping Job) {
    let wakes = queue.state.withLock { state in
      state.add(weight, job)
      guard state.workerCount < threads - 1, state.waitingWeight >= Self.wakingWeight else { return false }
      state.workerCount += 1
      return true
    }
    guard wakes else { return }
    Task { [queue] in queue.work() }
  }

  /// The result of the first job; `nil` in an empty queue. The job stays in the queue.
  ///
  /// - Throws: the error of the job, which the next call runs again.
  func first() throws -> Output? { try queue.first() }

  /// Removes the first job.
  func removeFirst() { queue.state.withLock { $0.removeFirst() } }

  /// Removes all jobs.
  func removeAll() { queue.removeAll() }

  /// The state that the threads share.
  private final class Queue: Sendable {
    let state = Mutex(State())
    /// Signalled when the job that the owner waits for has ended. The lock protects its result.
    private let isDone = DispatchSemaphore(value: 0)

    func first() throws -> Output? {
      while true {
        switch state.withLock({ $0.nextStep() }) {
        case .returns(let result): return try result?.get()
        case .runs(let number, let job): run(number, job)
        case .waits: isDone.wait()
        }
      }
    }

    /// Runs waiting jobs until none is left.
    func work() {
      while let (number, job) = state.withLock({ $0.beginWaiting(isWorker: true) }) { run(number, job) }
    }

    func removeAll() {
      // The jobs may hold the last reference to an object, which goes away after the lock.
      let removed = state.withLock { state in
        let jobs = state.jobs
        state.removeAll()
        return jobs
      }
      _ = removed
    }

    private func run(_ number: Int, _ job: Job) {
      let result = Result { try job() }
      if state.withLock({ $0.end(number, result) }) { isDone.signal() }
    }
  }

  private struct State {
    enum Phase {
      case waiting, running
      case ended(Result<Output, any Error>)
    }

    enum Step {
      case returns(Result<Output, any Error>?)
      case runs(Int, Job)
      case waits
    }

    struct Entry: Sendable {
      let weight: Int
      /// `nil` after it succeeded, so that what it holds goes away.
      var job: Job?
      var phase = Phase.waiting
    }

    private(set) var jobs: [Entry] = []
    private(set) var weight = 0
    private(set) var waitingWeight = 0
    var workerCount = 0
    /// The number of the first entry. Entries are numbered in their order, and a number never comes again.
    private var firstNumber = 0
    private var isOwnerWaiting = false

    mutating func add(_ weight: Int, _ job: @escaping Job) {
      jobs.append(Entry(weight: weight, job: job))
      self.weight += weight
      waitingWeight += weight
    }

    mutating func removeFirst() {
      guard let entry = jobs.first else { return }
      if case .waiting = entry.phase { waitingWeight -= entry.weight }
      weight -= entry.weight
      jobs.removeFirst()
      firstNumber += 1
    }

    mutating func removeAll() {
      firstNumber += jobs.count
      (jobs, weight, waitingWeight) = ([], 0, 0)
    }

    /// What the owner does to get the first result.
    mutating func nextStep() -> Step {
      guard let entry = jobs.first else { return .returns(nil) }
      if case .ended(let result) = entry.phase {
        if case .failure = result { jobs[0].phase = .waiting; waitingWeight += entry.weight }
        return .returns(result)
      }
      if let (number, job) = beginWaiting(isWorker: false) { return .runs(number, job) }
      isOwnerWaiting = true
      return .waits
    }

    /// The first waiting job, which is running from now on; `nil` where none is, and a worker ends.
    mutating func beginWaiting(isWorker: Bool) -> (Int, Job)? {
      for index in jobs.indices {
        if case .waiting = jobs[index].phase, let job = jobs[index].job {
          jobs[index].phase = .running
          waitingWeight -= jobs[index].weight
          return (firstNumber + index, job)
        }
      }
      if isWorker { workerCount -= 1 }
      return nil
    }

    /// Takes a result in.
    ///
    /// - Returns: whether the owner waits for it.
    mutating func end(_ number: Int, _ result: Result<Output, any Error>) -> Bool {
      // A job that was removed has a number below the first one.
      guard number >= firstNumber else { return false }
      let index = number - firstNumber
      jobs[index].phase = .ended(result)
      if case .success = result { jobs[index].job = nil }
      guard index == 0, isOwnerWaiting else { return false }
      isOwnerWaiting = false
      return true
    }
  }
}
