import Foundation
import GRDB
import StrataCore
import StrataStore

extension Runner {
  /// Compares a store with handwritten tables.
  func compareStore() throws {
    let names = ["store/save/protobuf", "store/save/strata", "store/read", "store/read-in-one", "size/store"]
    guard names.contains(where: wants) else { return }
    let folder = try Folder()
    defer { folder.remove() }
    let models = Small.make(10_000)
    let store = try SnapshotStore(url: folder.file("store"))
    let protobuf = try PlainTable(folder.file("protobuf"), .protobuf)
    let strata = try PlainTable(folder.file("strata"), .strata)
    var rounds = 0, plainRounds = 0, strataRounds = 0
    try time("store/save/protobuf", inverted: true) {
      rounds += 1
      try store.save(models, prefix: "\(rounds)/")
    } theirs: {
      plainRounds += 1
      try protobuf.save(models, prefix: "\(plainRounds)/")
    }
    try time("store/save/strata", inverted: true) {
      rounds += 1
      try store.save(models, prefix: "\(rounds)/")
    } theirs: {
      strataRounds += 1
      try strata.save(models, prefix: "\(strataRounds)/")
    }
    try store.close()
    try compareReading(100_000)
  }

  /// Compares reading one model by its key from a store of `count` models, and compares the sizes of the files.
  func compareReading(_ count: Int) throws {
    let folder = try Folder()
    defer { folder.remove() }
    let store = try SnapshotStore(url: folder.file("store"))
    let plain = try PlainTable(folder.file("plain"), .protobuf)
    for start in stride(from: 0, to: count, by: 10_000) {
      let models = (start..<min(count, start + 10_000)).map { Small.make(number: $0) }
      try store.save(models, prefix: "small/")
      try plain.save(models, prefix: "small/")
    }
    var random = SystemRandomNumberGenerator()
    let keys = (0..<1000).map { _ in "small/\(Small.make(number: Int.random(in: 0..<count, using: &random)).id)" }
    for key in keys {
      guard let ours = try store.read({ try $0.value(Small.self, for: key) }),
        try plain.pool.read({ try plain.model(for: key, $0) }) == ours
      else { throw Failure("the two sides do not have the same models") }
    }
    try time("store/read", inverted: true, oursPer: keys.count, theirsPer: keys.count) {
      for key in keys { consume(try store.read { try $0.value(Small.self, for: key) }) }
    } theirs: {
      for key in keys { consume(try plain.pool.read { try plain.model(for: key, $0) }) }
    }
    try time("store/read-in-one", inverted: true, oursPer: keys.count, theirsPer: keys.count) {
      try store.read { transaction in
        for key in keys { consume(try transaction.value(Small.self, for: key)) }
      }
    } theirs: {
      try plain.pool.read { db in
        for key in keys { consume(try plain.model(for: key, db)) }
      }
    }
    try store.close()
    try plain.pool.close()
    size("size/store", ours: try folder.size("store"), theirs: try folder.size("plain"))
  }
}

/// A temporary folder for one run.
struct Folder {
  private let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "strata-store-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  func file(_ name: String) -> URL { url.appending(path: name) }

  func size(_ name: String) throws -> Int {
    try FileManager.default.attributesOfItem(atPath: file(name).path)[.size] as? Int ?? 0
  }

  func remove() { try? FileManager.default.removeItem(at: url) }
}
