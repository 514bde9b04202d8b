import Foundation

/// A bounded queue of jobs that run on several threads. The owner of the queue receives the results in the order in which the jobs were
/// added.
///
/// The owner's thread also runs waiting jobs. It blocks only if the job whose result it needs is already running on another thread. The
/// owner therefore makes progress even if no other thread ever runs a job. It may use the queue on a thread of Swift's concurrency pool.
///
/// The other threads run tasks, which inherit the priority and the task-local values of the owner. When the queue is released, waiting jobs
/// are dropped, and the results of running jobs are discarded.
struct OrderedWork<Output: Sendable>: ~Copyable {
  typealias Job = @Sendable () throws -> Output
  /// Returns the next job and its approximate size in bytes; `nil` if there are no more jobs. The queue calls this function on only one
  /// thread at a time.
  typealias Source = @Sendable () -> (weight: Int, job: Job)?

  private let queue: Queue

  /// - Parameters:
  ///   - threads: the number of threads that run jobs, including the owner's. With one thread, all jobs run on the owner's thread. `nil`
  ///     means one for each core.
  ///   - source: a function that creates the next job, called as soon as the queue has room for a job; `nil` if only the owner adds jobs.
  init(threads: Int?, source: Source? = nil) { queue = Queue(threads: max(1, threads ?? Cores.count), source: source) }

  deinit { _ = queue.state.withLock { $0.stop() } }

  var hasRoom: Bool { queue.state.withLock { $0.hasRoom } }

  /// Adds a job to the end of the queue.
  ///
  /// - Parameter weight: the approximate size of the job's data in bytes.
  func add(weight: Int, _ job: @escaping Job) {
    queue.state.withLock { $0.add(weight, job) }
    queue.wake()
  }

  /// Returns the result of the first job and waits for it if necessary; `nil` if there are no more jobs. The job stays in the queue.
  ///
  /// - Parameter goesAhead: whether the source may be called for jobs after the first one.
  /// - Throws: the error that the job threw. The next call to this method runs the job again.
  func first(goesAhead: Bool = true) throws -> Output? { try queue.first(goesAhead) }

  func removeFirst() { queue.state.withLock { $0.removeFirst() } }

  /// Removes all jobs. If the source is currently creating a job, waits until it has returned. The source is not called again before the
  /// next call to ``first(goesAhead:)``.
  func stop() { queue.stop() }
}

extension OrderedWork {
  private final class Queue: Sendable {
    let state: Mutex<State>
    private let source: Source?
    /// Signalled when the owner can stop waiting, because the awaited job or call to the source has ended. The result is in ``state``.
    private let isDone = DispatchSemaphore(value: 0)

    init(threads: Int, source: Source?) {
      self.source = source
      state = Mutex(State(threads: threads, hasSource: source != nil))
    }

    func first(_ goesAhead: Bool) throws -> Output? {
      state.withLock { $0.goesAhead = goesAhead }
      wake()
      while true {
        switch state.withLock({ $0.ownerStep() }) {
        case .returns(let result): return try result?.get()
        case .runs(let number, let job): run(number, job)
        case .createsJob: createJob()
        case .waits: isDone.wait()
        }
      }
    }

    func stop() { while state.withLock({ $0.stop() }) { isDone.wait() } }

    /// Starts an additional worker if there is enough work for it.
    func wake() {
      guard state.withLock({ $0.beginWorker() }) else { return }
      // The task captures the queue weakly. Otherwise a task that has not started yet would keep the queue alive, and with it the file that
      // the source reads.
      Task { [weak self] in self?.work() }
    }

    private func work() {
      while true {
        switch state.withLock({ $0.workerStep() }) {
        case .runs(let number, let job): run(number, job)
        case .createsJob: createJob()
        case .returns, .waits: return
        }
      }
    }

    private func run(_ number: Int, _ job: Job) {
      let result = Result { try job() }
      if state.withLock({ $0.end(number, result) }) { isDone.signal() }
    }

    private func createJob() {
      let next = source?()
      if state.withLock({ $0.endCreating(next?.weight ?? 0, next?.job) }) { isDone.signal() }
      // Starts another worker if necessary. It can create the next job or run the job that was just created.
      wake()
    }
  }

  private struct State: Sendable {
    enum Phase: Sendable {
      case waiting, running
      case ended(Result<Output, any Error>)
    }

    enum Step: Sendable {
      case returns(Result<Output, any Error>?)
      case runs(Int, Job)
      case createsJob
      case waits
    }

    struct Entry: Sendable {
      let weight: Int
      /// The job. It is set to `nil` when the job has succeeded, to release the values that the job captures.
      var job: Job?
      var phase = Phase.waiting
      var isWaiting: Bool { if case .waiting = phase { true } else { false } }
    }

    /// The minimum total weight of the waiting jobs, in bytes, at which an additional worker is started. Lighter jobs would finish before
    /// the worker starts.
    private static var wakingWeight: Int { 8 << 10 }
    /// The maximum total weight of all jobs, in bytes per thread. An empty queue accepts a job of any weight.
    private static var weightPerThread: Int { 1 << 20 }

    private let threads: Int
    private let hasSource: Bool
    private var jobs: [Entry] = []
    private var weight = 0
    private var waitingWeight = 0
    /// The number of the first entry in `jobs`. Entries are numbered consecutively, and each number is used only once.
    private var firstNumber = 0
    private var workerCount = 0
    private var isCreatingJob = false
    /// Whether the source has returned `nil`, which means that there are no more jobs.
    private var isAtEnd = false
    var goesAhead = false
    private var isOwnerWaiting = false

    init(threads: Int, hasSource: Bool) { (self.threads, self.hasSource) = (threads, hasSource) }

    /// Whether another job may be added. Two jobs for each thread keep the other threads busy while the owner runs a job itself.
    var hasRoom: Bool {
      jobs.isEmpty || threads > 1 && jobs.count < 2 * threads && weight < threads * Self.weightPerThread
    }

    private var mayCreateJob: Bool { hasSource && !isCreatingJob && !isAtEnd }

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

    /// Removes all jobs.
    ///
    /// - Returns: whether the source is currently creating a job. If so, the owner must wait for it to return.
    mutating func stop() -> Bool {
      firstNumber += jobs.count
      (jobs, weight, waitingWeight) = ([], 0, 0)
      (goesAhead, isAtEnd) = (false, false)
      isOwnerWaiting = isCreatingJob
      return isCreatingJob
    }

    mutating func beginWorker() -> Bool {
      let hasWork =
        waitingWeight >= Self.wakingWeight
        || mayCreateJob && goesAhead && jobs.count <= threads && weight < threads * Self.weightPerThread
      guard hasWork, workerCount < threads - 1 else { return false }
      workerCount += 1
      return true
    }

    mutating func ownerStep() -> Step {
      guard let entry = jobs.first else {
        if isCreatingJob {
          isOwnerWaiting = true
          return .waits
        }
        guard mayCreateJob else { return .returns(nil) }
        isCreatingJob = true
        return .createsJob
      }
      if case .ended(let result) = entry.phase {
        if case .failure = result {
          jobs[0].phase = .waiting
          waitingWeight += entry.weight
        }
        return .returns(result)
      }
      if let index = jobs.firstIndex(where: \.isWaiting) { return begin(index) }
      if mayCreateJob, goesAhead, hasRoom {
        isCreatingJob = true
        return .createsJob
      }
      isOwnerWaiting = true
      return .waits
    }

    /// Returns the next step of a worker. Workers prefer creating jobs to running them, because only one thread at a time can create jobs.
    /// Workers run the last waiting job first, because the owner starts with the first one.
    mutating func workerStep() -> Step {
      if mayCreateJob, goesAhead, hasRoom {
        isCreatingJob = true
        return .createsJob
      }
      if let index = jobs.lastIndex(where: \.isWaiting) { return begin(index) }
      workerCount -= 1
      return .returns(nil)
    }

    private mutating func begin(_ index: Int) -> Step {
      guard let job = jobs[index].job else { return .waits }
      jobs[index].phase = .running
      waitingWeight -= jobs[index].weight
      return .runs(firstNumber + index, job)
    }

    /// Records the result of a job.
    ///
    /// - Returns: whether the owner is waiting for this job.
    mutating func end(_ number: Int, _ result: Result<Output, any Error>) -> Bool {
      // A number below `firstNumber` means that the job has been removed, so its result is discarded.
      guard number >= firstNumber else { return false }
      let index = number - firstNumber
      jobs[index].phase = .ended(result)
      if case .success = result { jobs[index].job = nil }
      return index == 0 && endWaiting()
    }

    /// Records the job that the source returned.
    ///
    /// - Returns: whether the owner is waiting for the source to create a job.
    mutating func endCreating(_ weight: Int, _ job: Job?) -> Bool {
      isCreatingJob = false
      if let job { add(weight, job) } else { isAtEnd = true }
      return endWaiting()
    }

    private mutating func endWaiting() -> Bool {
      defer { isOwnerWaiting = false }
      return isOwnerWaiting
    }
  }
}
