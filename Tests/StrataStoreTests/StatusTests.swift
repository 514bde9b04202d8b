import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Status")
struct StatusTests {
  @Test("The status reports types and versions that match the rows")
  func counts() async throws {
    let store = try SnapshotStore()
    try await store.write { transaction in
      for number in 0..<5 {
        try transaction.save(OldPoint(name: "o", x: number, y: 0), as: "p\(number)")
        try transaction.save(Point5(name: "n", x: number, y: 0, isOn: true), as: "p\(number)")
      }
      try transaction.save("text", as: "t")
      try transaction.delete("p0")
    }
    let status = try await store.status()
    #expect(
      status.types.map { "\($0.typeName) \($0.modelVersion ?? 0) \($0.revisions) \($0.heads)" } == [
        "Point 1 5 0", "Point 2 5 4", "String 0 1 1",
      ])
    #expect(status.revisions == 11 && status.keys == 5 && status.sequence == 12 && status.failedUpgrades == 0)
    #expect(status.format == 1 && status.minimumReader == 1 && status.minimumWriter == 1 && !status.isReadOnly)
    #expect(status.fileSize > 4096 && status.journalSize == nil && status.journalReaders == nil)
  }

  @Test("The status reports the journal size and the processes that read from it")
  func journal() throws {
    try withFolder { folder in
      let store = try SnapshotStore(url: folder.appending(path: "store"))
      try store.write { _ = try $0.save(1, as: "n") }
      let before = try store.status()
      #expect(before.journalSize ?? 0 > 0)
      #if os(Linux)
        #expect(before.journalReaders == [])
        let isReading = Mutex(false), isOver = Mutex(false)
        Thread.detachNewThread {
          #expect(throws: Never.self) {
            try store.read { transaction in
              _ = try transaction.revision(of: "n")
              isReading.withLock { $0 = true }
              while !isOver.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.005) }
            }
          }
        }
        while !isReading.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.005) }
        #expect(try store.status().journalReaders == [Int(ProcessInfo.processInfo.processIdentifier)])
        isOver.withLock { $0 = true }
      #endif
    }
  }
}
