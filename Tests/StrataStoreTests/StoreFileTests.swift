import Foundation
import StrataStore
import StrataTestSupport
import Testing

@Suite("Store files")
struct StoreFileTests {
  @Test("A store opens through symbolic links, whether or not its file exists", arguments: [false, true])
  func links(isRelative: Bool) throws {
    try withFolder { folder in
      let manager = FileManager.default
      let place = folder.appending(path: "place")
      try manager.createDirectory(at: place, withIntermediateDirectories: false)
      let url = place.appending(path: "store"), link = folder.appending(path: "link")
      try manager.createSymbolicLink(
        atPath: folder.appending(path: "other").path, withDestinationPath: isRelative ? "place/store" : url.path)
      try manager.createSymbolicLink(
        atPath: link.path, withDestinationPath: isRelative ? "other" : folder.appending(path: "other").path)
      for number in 1...3 {
        let store = try SnapshotStore(url: link)
        let revision = try store.write { try $0.save(number, as: "n") }
        #expect(revision.number == number)
        #expect(try store.status().journalSize ?? 0 > 0)
        try store.close()
      }
      #expect(try SnapshotStore(url: url).read { try $0.value(Int.self, for: "n") } == 3)
      #expect(try Set(manager.contentsOfDirectory(atPath: folder.path)) == ["place", "other", "link"])
      let report = try SnapshotStore.salvage(link, to: folder.appending(path: "copy"))
      #expect(report.isComplete && report.revisions == 3)
      // A symbolic link that points to itself.
      let circle = folder.appending(path: "circle")
      try manager.createSymbolicLink(atPath: circle.path, withDestinationPath: "circle")
      storeError(.fileSystem) { try SnapshotStore(url: circle) }
    }
  }

  @Test("Opening or salvaging an empty file keeps its journal")
  func emptyFile() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), journal = folder.appending(path: "store-wal")
      try Data().write(to: url)
      try Data(repeating: 7, count: 8192).write(to: journal)
      storeError(.damaged) { try SnapshotStore(url: url) }
      storeError(.notAStore) { try SnapshotStore.salvage(url, to: folder.appending(path: "copy")) }
      #expect(try Data(contentsOf: journal) == Data(repeating: 7, count: 8192))
      #expect(try Set(FileManager.default.contentsOfDirectory(atPath: folder.path)) == ["store", "store-wal"])
    }
  }
}
