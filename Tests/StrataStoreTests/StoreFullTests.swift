import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("A disk that is full")
struct StoreFullTests {
  @Test("A save for which there is no room is an error, and the old state is whole")
  func fullDatabase() throws {
    try withFolder { folder in
      let url = folder.appending(path: "full.store")
      var configuration = Configuration()
      configuration.journalMode = .wal
      let queue = try DatabaseQueue(path: url.path, configuration: configuration)
      let store = try SnapshotStore(in: queue)
      var random = SeededRandom(seed: 13)
      func text() -> String { (0..<2000).map { _ in String(random.next(), radix: 36) }.joined() }
      try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 60") }
      var saved: [String] = []
      var error: StoreError?
      while error == nil {
        let text = text()
        do {
          try store.write { transaction in
            // The first part fits, and goes with the second one.
            try transaction.save(Part(name: "small", weight: Double(saved.count)), as: "small")
            try transaction.save(Part(name: text, weight: nil), as: "k")
          }
          saved.append(text)
        } catch let found as StoreError { error = found }
        try #require(saved.count < 100)
      }
      #expect(error?.code == .full && !saved.isEmpty, "\(String(describing: error))")
      func check() throws {
        try store.read { transaction in
          let history = try transaction.history(of: "k")
          #expect(history.count == saved.count)
          for (revision, text) in zip(history, saved) {
            #expect(try transaction.value(Part.self, for: "k", at: .revision(revision.number))?.name == text)
          }
          #expect(try transaction.value(Part.self, for: "small")?.weight == Double(saved.count - 1))
        }
      }
      try check()
      // As soon as there is room, saving goes on.
      try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 100000") }
      let more = text()
      try store.write { transaction in
        try transaction.save(Part(name: "small", weight: Double(saved.count)), as: "small")
        try transaction.save(Part(name: more, weight: nil), as: "k")
      }
      saved.append(more)
      try check()
      #expect(
        try queue.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"])
    }
  }
}
