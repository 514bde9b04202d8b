import Foundation
import StrataCore
import StrataTool

/// The tool of an app whose tickets have changed once. Workers are tried with it (Docs/Scaling.md).
///
///     strata-tickets make 1000000 [FIRST]   writes tickets of version 1, each as a length of 4 bytes and an archive
///     strata-tickets worker                 and the other commands of an app's tool
@main enum Main {
  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.first == "make" else { Tool.main(Ticket.self) }
    guard let count = arguments.dropFirst().first.flatMap({ Int($0) }), count >= 0 else {
      FileHandle.standardError.write(Data("usage: strata-tickets make COUNT [FIRST]\n".utf8))
      exit(64)
    }
    let first = arguments.dropFirst(2).first.flatMap { Int($0) } ?? 0
    var output = Data()
    for id in first..<first + count {
      let archive = try ArchiveEncoder().encode(OldTicket(id: id))
      withUnsafeBytes(of: UInt32(archive.count).littleEndian) { output.append(contentsOf: $0) }
      output.append(archive)
      if output.count > 1 << 20 || id == first + count - 1 {
        try FileHandle.standardOutput.write(contentsOf: output)
        output.removeAll(keepingCapacity: true)
      }
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

  /// A ticket whose content depends on its number alone.
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

/// A ticket as the app has it today.
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

  /// Faults of an app's own code, for the tests of the programs that drive workers.
  private static func misbehave(_ title: String) throws {
    switch title {
    case "trap": fatalError("a step traps")
    case "hang": while true { sleep(60) }
    default: break
    }
  }
}
