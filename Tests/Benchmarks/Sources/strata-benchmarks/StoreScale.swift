import Foundation
import StrataCore
import StrataStore

/// Measures the cost of a store that contains many models, and of one that contains many revisions of a model.
enum StoreScale {
  static let argument = "--store-scale"

  static func run(_ count: Int) throws {
    say(Report.head)
    try Runner(rounds: 5, filter: nil).compareReading(count)
    for models in [1000, count] { try measureOpening(models) }
    try measureHistory()
    for revisions in [1000, 10_000, 100_000] { try measureLength(revisions) }
  }

  /// Prints how many 4 KB pages are read when a store is opened, and how many when its first value is read.
  private static func measureOpening(_ count: Int) throws {
    let folder = try Folder()
    defer { folder.remove() }
    let store = try SnapshotStore(url: folder.file("store"))
    for start in stride(from: 0, to: count, by: 10_000) {
      try store.save((start..<min(count, start + 10_000)).map { Small.make(number: $0) }, prefix: "small/")
    }
    try store.close()
    let before = try bytesRead()
    let again = try SnapshotStore(url: folder.file("store"))
    let opened = try bytesRead()
    guard try again.read({ try $0.value(Small.self, for: "small/\(Small.make(number: count / 2).id)") }) != nil else {
      throw Failure("the model is not there")
    }
    let read = try bytesRead()
    say(
      "store of \(count) models, \(try folder.size("store")) bytes: opening reads \((opened - before) / 4096) pages, and "
        + "the first value \((read - opened) / 4096)")
    try again.close()
  }

  /// Prints how many bytes of the database file a hundred revisions of 10 KB each take.
  private static func measureHistory() throws {
    for texts in [1, 3] {
      let folder = try Folder()
      defer { folder.remove() }
      var models = (0..<250).map { Small.make(number: $0) }
      let plain = try ArchiveEncoder(compression: .none).encode(models).count
      let store = try SnapshotStore(url: folder.file("store"))
      let empty = try store.status().fileSize
      for number in 0..<100 {
        for text in 0..<texts {
          let place = (number * 37 + text * 101) % models.count
          models[place].name = Small.make(number: 1_000_000 + number * 3 + text).name + " changed at \(number)"
          models[place].score = Double(number) / 7
        }
        try store.write { _ = try $0.save(models, as: "document") }
      }
      let size = try store.status()
      let used = size.fileSize - size.freeBytes - empty
      say(
        "100 revisions of \(plain) bytes, \(texts) of 250 models changed in each: \(used) bytes of the file, beside the "
          + "\(empty) of an empty store")
      try store.close()
    }
  }

  /// Prints the cost of saving, listing and pruning a revision in a history of the given length.
  private static func measureLength(_ count: Int) throws {
    let folder = try Folder()
    defer { folder.remove() }
    let store = try SnapshotStore(url: folder.file("store"))
    let clock = ContinuousClock()
    func seconds(_ work: () throws -> Void) rethrows -> Double { try clock.measure(work) / .seconds(1) }
    let saved = try seconds {
      for start in stride(from: 0, to: count, by: 1000) {
        try store.write { transaction in
          for number in start..<start + 1000 { try transaction.save(Small.make(number: number), as: "one") }
        }
      }
    }
    let listed = try seconds {
      guard try store.read({ try $0.history(of: "one") }).count == count else { throw Failure("revisions are missing") }
    }
    let pruned = try seconds { consume(try store.prune([.keepLast(count / 2)])) }
    func micros(_ seconds: Double, _ count: Int) -> String { String(format: "%.1f µs", seconds * 1e6 / Double(count)) }
    say(
      "\(count) revisions of one key, for each: saving \(micros(saved, count)), listing \(micros(listed, count)), pruning "
        + micros(pruned, count / 2))
    try store.close()
  }

  /// Returns the number of bytes that this process has read from files.
  private static func bytesRead() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/io", encoding: .utf8)
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("rchar:") }),
      let bytes = line.split(separator: " ").last.flatMap({ Int($0) })
    else { throw Failure("this system does not say what a process reads") }
    return bytes
  }
}

/// Measures the size of the journal while other threads read continuously.
enum StoreJournalSize {
  static let argument = "--store-journal"

  static func run(_ count: Int) throws {
    let folder = try Folder()
    defer { folder.remove() }
    let url = folder.file("store")
    let store = try SnapshotStore(url: url)
    try store.save(Small.make(1000), prefix: "small/")
    // The readers' long transactions overlap, so that a read transaction is almost always open.
    let isDone = DispatchSemaphore(value: 0), ended = DispatchGroup()
    let readers = 4
    for _ in 0..<readers {
      ended.enter()
      Thread.detachNewThread {
        while isDone.wait(timeout: .now()) == .timedOut {
          _ = try? store.read { transaction in
            consume(try transaction.value(Small.self, for: "small/1"))
            Thread.sleep(forTimeInterval: 0.02)
          }
        }
        ended.leave()
      }
    }
    let start = ContinuousClock.now
    var most = 0
    for number in 0..<count {
      try store.write { _ = try $0.save(Small.make(number: number), as: "small/\(number % 1000)") }
      if number.isMultiple(of: 16) { most = max(most, (try? folder.size("store-wal")) ?? 0) }
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    for _ in 0..<readers { isDone.signal() }
    ended.wait()
    say(
      "\(count) saves beside \(readers) readers that overlap: journal of at most \(most) bytes, "
        + String(format: "%.0f µs a save", seconds * 1e6 / Double(count)))
  }
}
