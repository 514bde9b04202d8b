import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import StrataTestSupport
import Testing

/// Refreshes a store with the recorded responses for a resource, one after the other, and edits the store in between.
@Suite("Recorded sequences of responses, refreshed with edits in between", .readsCorpus)
struct RecordedSequenceTests {
  @Test(
    "Each edit is in the row, on the server or in a conflict, and all other values are the server's", .tags(.long),
    arguments: Effort.sample(6, of: RecordedSequence.all))
  func edits(_ sequence: RecordedSequence) async throws {
    let documents = try sequence.documents().compactMap(Self.record)
    guard documents.count > 1 else { return }
    for seed in 1...3 as ClosedRange<UInt64> {
      var run = SequenceRun(documents, seed: seed, name: sequence.seq)
      try await run.run()
    }
  }

  @Test func someWereFound() { #expect(RecordedSequence.all.count > 50) }

  /// Returns a recorded document, or `nil` if it isn't an object.
  private static func record(_ document: ArchiveValue) -> ArchiveValue? {
    guard case .object = document else { return nil }
    return document
  }
}

/// One run of a sequence. The expected content of the store is computed without merging, by applying each change at its path.
private struct SequenceRun {
  private let documents: [ArchiveValue]
  private let label: String
  private var random: SeededRandom
  /// The edits that the server does not have yet, by path. A removal is `nil`.
  private var edits: [[String]: ArchiveValue?] = [:]

  init(_ documents: [ArchiveValue], seed: UInt64, name: String) {
    self.documents = documents
    label = "\(name), seed \(seed)"
    random = SeededRandom(seed: seed)
  }

  mutating func run() async throws {
    let server = ModelServer(["docs": try Self.list(documents[0])])
    server.state.withLock { $0.removesNulls = true }
    let queue = try DatabaseQueue()
    try await queue.write { db in try Document.makeTable(in: db) }
    var configuration = RemoteConfiguration(
      baseURL: server.base, mappers: EntityMapper(Document.self, path: "docs"), transport: server)
    configuration.retry = .none
    let entities = try EntityStore(queue, Document.self)
    let remote = try await RemoteStore(entities, configuration)
    try await remote.refresh(Document.self)
    for document in documents.dropFirst() {
      try await edit(entities)
      server.set("docs", try Self.list(document))
      try await remote.refresh(Document.self)
      try await check(remote, document)
    }
    try await remote.send()
    let conflicts = try await conflicts(remote)
    let last = try #require(server.json("docs", "7")?["value"])
    for (path, value) in edits where !conflicts.contains(where: { Self.overlaps($0, path) }) {
      #expect(Self.value(last, path) == value, "\(label): \(path) did not arrive")
    }
    #expect(try await remote.changes().isEmpty == conflicts.isEmpty, "\(label)")
    for conflict in try await remote.conflicts() { try await remote.resolve(conflict, .local) }
    try await remote.send()
    let left = try await remote.changes()
    // Some recorded values are null. A merge patch cannot set a key to null again if the server has since dropped the key.
    if let change = left.first {
      #expect(change.state == .refused && "\(change)".contains("a merge patch cannot set"), "\(label): \(change)")
      return
    }
    let arrived = try #require(server.json("docs", "7")?["value"])
    for (path, value) in edits { #expect(Self.value(arrived, path) == value, "\(label): \(path) did not arrive") }
  }

  /// Changes, removes and adds a few keys.
  private mutating func edit(_ entities: EntityStore) async throws {
    guard var document = try await entities.fetchOne(Document.all()) else { return }
    let fetched = document
    let edits = Int.random(in: 0...3, using: &random)
    for _ in 0..<edits {
      let leaves = Self.leaves(document.value)
      guard let leaf = leaves.randomElement(using: &random) else { continue }
      let text = ArchiveValue.string("edit \(Int.random(in: 0..<1000, using: &random))")
      let (path, value): ([String], ArchiveValue?) =
        switch Int.random(in: 0..<4, using: &random) {
        case 0: (leaf, nil)
        case 1: (leaf.dropLast() + ["added \(Int.random(in: 0..<3, using: &random))"], text)
        default: (leaf, text)
        }
      self.edits = self.edits.filter { !Self.overlaps($0.key, path) }
      self.edits[path] = .some(value)
      document.value = try Self.set(document.value, path[...], value)
    }
    try await entities.save(document, base: fetched)
  }

  private mutating func check(_ remote: RemoteStore, _ server: ArchiveValue) async throws {
    let row = try #require(try await remote.cached(Document.all()).first?.value)
    let conflicts = try await conflicts(remote)
    for (path, value) in edits {
      if Self.value(server, path) == value {
        edits[path] = nil
      } else {
        let isKept = Self.value(row, path) == value || conflicts.contains { Self.overlaps($0, path) }
        #expect(isKept, "\(label): the edit of \(path) is neither in the row nor in a conflict")
      }
    }
    let touched = Array(edits.keys) + conflicts
    // Keys that the server no longer lists stay in the row, because the value is a dictionary.
    for leaf in Self.leaves(server)
    where Self.value(server, leaf) != [:] && !touched.contains(where: { Self.overlaps($0, leaf) }) {
      #expect(Self.value(row, leaf) == Self.value(server, leaf), "\(label): \(leaf) is not what the server said")
    }
  }

  private func conflicts(_ remote: RemoteStore) async throws -> [[String]] {
    try await remote.conflicts().map { conflict in
      ValuePath(parsing: conflict.path).components.dropFirst().compactMap { component in
        if case .key(let key) = component { key } else { nil }
      }
    }
  }

  // MARK: Paths

  private static func list(_ document: ArchiveValue) throws -> String {
    String(decoding: try JSONWriter().write([["id": "7", "value": document]]), as: UTF8.self)
  }

  /// The paths of all values except objects with keys.
  private static func leaves(_ value: ArchiveValue, _ path: [String] = []) -> [[String]] {
    guard case .object(let object) = value, !object.isEmpty else { return [path] }
    return object.entries.flatMap { leaves($0.value, path + [$0.key]) }
  }

  private static func value(_ value: ArchiveValue, _ path: [String]) -> ArchiveValue? {
    path.reduce(value as ArchiveValue?) { value, key in value?.objectValue?[key] }
  }

  private static func set(_ value: ArchiveValue, _ path: ArraySlice<String>, _ new: ArchiveValue?) throws
    -> ArchiveValue
  {
    guard let key = path.first else { return new ?? .null }
    var object = value.objectValue ?? ArchiveObject()
    object[key] = try path.count == 1 ? new : set(object[key] ?? [:], path.dropFirst(), new)
    return .object(object)
  }

  /// Whether one path is a prefix of the other, or both are equal.
  private static func overlaps(_ one: [String], _ other: [String]) -> Bool {
    zip(one, other).allSatisfy { $0 == $1 }
  }
}
