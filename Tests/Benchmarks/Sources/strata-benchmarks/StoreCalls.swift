import Foundation
import StrataCore
import StrataStore

/// Times each method of a store on disk that contains a given number of keys.
enum StoreCalls {
  static let argument = "--store-calls"

  private static func key(_ number: Int) -> String { "small/\(10_000_000 + number)" }

  static func run(_ count: Int) async throws {
    let folder = try Folder()
    defer { folder.remove() }
    say("\(count) keys of small models, one in ten with two revisions")
    try fill(count, folder)
    let store = try SnapshotStore(url: folder.file("store"))
    try keys(store, (0..<200).map { key($0 * (count / 200) / 10 * 10) })
    try pages(store, count, key(count / 2))
    try await entries(store, count)
    try whole(store, count, folder)
    try store.close()
  }

  private static func fill(_ count: Int, _ folder: Folder) throws {
    let store = try SnapshotStore(url: folder.file("store"))
    try time("save in one transaction, a key", per: count) {
      for start in stride(from: 0, to: count, by: 10_000) {
        try store.write { transaction in
          for number in start..<min(count, start + 10_000) {
            try transaction.save(Small.make(number: number), as: key(number), author: "ann")
          }
        }
      }
    }
    for start in stride(from: 0, to: count, by: 100_000) {
      try store.write { transaction in
        for number in stride(from: start, to: min(count, start + 100_000), by: 10) {
          var model = Small.make(number: number)
          model.score += 1
          try transaction.save(model, as: key(number), author: "ben")
        }
      }
    }
    try store.close()
    try time("open, and read one value") {
      let store = try SnapshotStore(url: folder.file("store"))
      consume(try store.read { try $0.value(Small.self, for: key(count / 2)) })
      try store.close()
    }
  }

  /// Measures calls that take a key. Each call has its own transaction.
  private static func keys(_ store: SnapshotStore, _ keys: [String]) throws {
    func each(_ name: String, _ body: (String) throws -> Void) throws {
      try time(name, per: keys.count) { for key in keys { try body(key) } }
    }
    try each("value") { key in consume(try store.read { try $0.value(Small.self, for: key) }) }
    try each("value at a revision") { key in
      consume(try store.read { try $0.value(Small.self, for: key, at: .revision(1)) })
    }
    try each("value at a time") { key in
      consume(try store.read { try $0.value(Small.self, for: key, at: .time(.now)) })
    }
    try each("revision") { key in consume(try store.read { try $0.revision(of: key) }) }
    try each("history") { key in consume(try store.read { try $0.history(of: key) }) }
    try each("archive") { key in consume(try store.read { try $0.archive(of: key) }) }
    try each("difference") { key in consume(try store.read { try $0.difference(of: key, from: .revision(1)) }) }
    try each("save a new key") { key in
      try store.write { _ = try $0.save(Small.make(number: 1), as: "other/\(key)", author: "ann") }
    }
    try each("save a known key") { key in
      try store.write { _ = try $0.save(Small.make(number: 7), as: key, author: "ann") }
    }
    try each("setLabel") { key in try store.write { try $0.setLabel("l", of: key) } }
    try each("labels") { key in consume(try store.read { try $0.labels(of: key) }) }
    try each("removeLabel") { key in try store.write { try $0.removeLabel("l", of: key) } }
    try each("undo") { key in try store.write { _ = try $0.undo(key) } }
    try each("redo") { key in try store.write { _ = try $0.redo(key) } }
    try each("restore") { key in try store.write { _ = try $0.restore(key, to: .revision(1)) } }
    try each("delete") { key in try store.write { _ = try $0.delete("other/\(key)") } }
  }

  /// Measures calls that return a page of results.
  private static func pages(_ store: SnapshotStore, _ count: Int, _ middle: String) throws {
    try time("revisions(prefix:), 100 from the middle") {
      consume(try store.read { try $0.revisions(prefix: "small/", after: middle, limit: 100) })
    }
    try time("revisions(since:), 100 from the middle") {
      consume(try store.read { try $0.revisions(since: Int64(count / 2), limit: 100) })
    }
    try time("revisions(prefix:), all in pages of 1,000") {
      var last: String?
      var found = 0
      while true {
        let page = try store.read { [last] in try $0.revisions(prefix: "small/", after: last, limit: 1000) }
        guard let final = page.last else { break }
        found += page.count
        last = final.key
      }
      guard found == count else { throw Failure("\(found) keys of \(count)") }
    }
    try time("revisions(since:), all in pages of 1,000") {
      var last: Int64 = 0
      while true {
        let page = try store.read { [last] in try $0.revisions(since: last, limit: 1000) }
        guard let final = page.last else { break }
        last = final.sequence
      }
    }
    try time("forEach, all") {
      var found = 0
      try store.read { try $0.forEach(Small.self, prefix: "small/") { _ in found += 1 } }
      guard found == count else { throw Failure("\(found) values of \(count)") }
    }
    try time("archive, of all keys in one transaction") {
      try store.read { transaction in
        try transaction.forEach(Small.self, prefix: "small/") { consume(try transaction.archive(of: $0.key)) }
      }
    }
  }

  private static func entries(_ store: SnapshotStore, _ count: Int) async throws {
    let start = ContinuousClock.now
    var found = 0
    for try await _ in store.entries(Small.self, prefix: "small/") { found += 1 }
    guard found == count else { throw Failure("\(found) values of \(count)") }
    tell("entries, all", 1, ContinuousClock.now - start)
  }

  /// Measures calls that process the whole store.
  private static func whole(_ store: SnapshotStore, _ count: Int, _ folder: Folder) throws {
    try time("status") { consume(try store.status()) }
    try time("upgradePlan") { consume(try store.upgradePlan([Small.self])) }
    try time("check(.quick)") { guard try store.check(.quick).isClean else { throw Failure("not clean") } }
    try time("check(.full)") { guard try store.check(.full).isClean else { throw Failure("not clean") } }
    try time("backup") { try store.backup(to: folder.file("backup")) }
    try time("salvage") { consume(try store.salvage(to: folder.file("salvaged"))) }
    try time("prune, dry run") { consume(try store.prune([.keepLast(1)], dryRun: true)) }
    try time("prune") {
      guard try store.prune([.keepLast(1)]).removedCount >= count / 10 else { throw Failure("revisions are left") }
    }
  }

  private static func time(_ name: String, per count: Int = 1, _ body: () throws -> Void) throws {
    tell(name, count, try ContinuousClock().measure(body))
  }

  private static func tell(_ name: String, _ count: Int, _ time: Duration) {
    let seconds = time / .seconds(1) / Double(count)
    let text =
      seconds < 1e-3
      ? String(format: "%.1f µs", seconds * 1e6)
      : seconds < 1 ? String(format: "%.2f ms", seconds * 1e3) : String(format: "%.2f s", seconds)
    say("| \(name) | \(text) |")
  }
}
