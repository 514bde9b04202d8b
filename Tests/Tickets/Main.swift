import Foundation
import StrataCore
import StrataTool

/// The tool of an app whose tickets have changed once. It is for trying out workers (Docs/Scaling.md).
///
///     strata-tickets make 1000000 [FIRST]   writes tickets of version 1, each as a 4-byte length and an archive
///     strata-tickets direct                 upgrades tickets from standard input without a worker, in the format of make
///     strata-tickets worker                 runs the worker; the other commands of an app's tool work too
@main enum Main {
  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst()
    switch arguments.first {
    case "make":
      guard let count = arguments.dropFirst().first.flatMap({ Int($0) }), count >= 0 else {
        FileHandle.standardError.write(Data("usage: strata-tickets make COUNT [FIRST]\n".utf8))
        exit(64)
      }
      try make(count, first: arguments.dropFirst(2).first.flatMap { Int($0) } ?? 0)
    case "direct": try upgradeDirectly()
    default: Tool.main(Ticket.self)
    }
  }

  private static func make(_ count: Int, first: Int) throws {
    var output = Output()
    for id in first..<first + count { try output.append(ArchiveEncoder().encode(OldTicket(id: id))) }
    try output.flush()
  }

  /// Upgrades the archives with the library alone. The difference in time between this and `worker` is the cost of the frames.
  private static func upgradeDirectly() throws {
    let upgrader = ArchiveUpgrader(Ticket.self)
    var output = Output()
    var input = Data()
    while true {
      let piece = FileHandle.standardInput.availableData
      guard !piece.isEmpty else { break }
      input.append(piece)
      while input.count >= 4 {
        let length = input.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        guard input.count - 4 >= length else { break }
        try output.append(upgrader.upgrade(input.dropFirst(4).prefix(length)))
        input = input.dropFirst(4 + length)
      }
    }
    try output.flush()
  }

  private struct Output {
    private var bytes = Data()

    mutating func append(_ archive: Data) throws {
      withUnsafeBytes(of: UInt32(archive.count).littleEndian) { bytes.append(contentsOf: $0) }
      bytes.append(archive)
      if bytes.count > 1 << 16 { try flush() }
    }

    mutating func flush() throws {
      try FileHandle.standardOutput.write(contentsOf: bytes)
      bytes.removeAll(keepingCapacity: true)
    }
  }
}

/// A ticket as version 1 of the app wrote it.
struct OldTicket: DescribedModel {
  var id: Int
  var summary: String
  var comments: [String]
  var opened: Date
  var isClosed: Bool

  static let fields = Fields(
    OldTicket.self, name: "Ticket", version: 1, Field("id", \.id), Field("summary", \.summary),
    Field("comments", \.comments),
    Field("opened", \.opened), Field("isClosed", \.isClosed),
    make: { OldTicket(id: $0, summary: $1, comments: $2, opened: $3, isClosed: $4) })

  init(id: Int, summary: String, comments: [String], opened: Date, isClosed: Bool) {
    (self.id, self.summary, self.comments, self.opened, self.isClosed) = (id, summary, comments, opened, isClosed)
  }

  /// Creates a ticket whose content depends only on its number.
  init(id: Int) {
    let words = [
      "crash", "on", "launch", "after", "update", "of", "the", "sync", "engine", "while", "offline", "again",
    ]
    func text(_ seed: Int, _ count: Int) -> String {
      (0..<count).map { words[(seed &* 31 &+ $0 &* $0 &* 7 &+ id) % words.count] }.joined(separator: " ")
    }
    self.init(
      id: id, summary: text(id, 6), comments: (0..<id % 5).map { text($0 &+ id / 7, 12) },
      opened: Date(timeIntervalSince1970: 1_600_000_000 + Double(id % 100_000_000)), isClosed: id.isMultiple(of: 3))
  }
}

/// A ticket in the current version of the app.
struct Ticket: DescribedModel, Migratable {
  var id: Int
  var title: String
  var comments: [String]
  var opened: Date
  var state: State

  enum State: String, Archivable, CaseIterable { case open, closed }

  static let fields = Fields(
    Ticket.self, name: "Ticket", version: 2, Field("id", \.id), Field("title", \.title), Field("comments", \.comments),
    Field("opened", \.opened), Field("state", \.state),
    make: { Ticket(id: $0, title: $1, comments: $2, opened: $3, state: $4) })

  static let migration = MigrationPlan(
    .step(
      from: 1, to: 2, .rename("summary", to: "title"),
      .custom("isClosed becomes state") { record in
        record["state"] = record.removeValue(forKey: "isClosed") == true ? "closed" : "open"
        try misbehave(record["title"]?.stringValue ?? "")
      }))

  /// Simulates faults in an app's own code. Programs that control workers are tested with them.
  private static func misbehave(_ title: String) throws {
    switch title {
    case "trap": fatalError("a step traps")
    case "hang": while true { sleep(60) }
    default: break
    }
  }
}
