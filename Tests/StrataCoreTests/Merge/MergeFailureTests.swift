import Foundation
import StrataCore
import StrataTestSupport
import Testing

private struct Part: DescribedModel, Equatable {
  var id: Int
  var name: String
  var size: Int
  static let fields = Fields(
    Part.self, version: 1, Field("id", \.id), Field("name", \.name), Field("size", \.size),
    make: { Part(id: $0, name: $1, size: $2) })

  static func random(_ id: Int, _ random: inout SeededRandom) -> Part {
    Part(id: id, name: ["p", "q"][random.below(2)], size: random.below(3))
  }
}

/// A model with one field for each kind of policy.
private struct Sheet: DescribedModel, Equatable {
  var title: String
  var count: Int
  var best: Int
  var least: Int?
  var tags: Set<String>
  var names: [String]
  var text: String
  var log: [Int]
  var parts: [Part]
  var main: Part?
  var state: String
  static let fields = Fields(
    Sheet.self, version: 1, Field("title", \.title), Field("count", \.count, merge: .sumOfDeltas),
    Field("best", \.best, merge: .max), Field("least", \.least, merge: .min.ifPresent),
    Field("tags", \.tags, merge: .addWins), Field("names", \.names, merge: .union),
    Field("text", \.text, merge: .lines.orElse(.serverWins)), Field("log", \.log, merge: .append),
    Field("parts", \.parts, merge: .byID()), Field("main", \.main, merge: .recursive),
    Field("state", \.state, merge: .lastWriter(by: "best")),
    make: {
      Sheet(
        title: $0, count: $1, best: $2, least: $3, tags: $4, names: $5, text: $6, log: $7, parts: $8, main: $9,
        state: $10)
    })

  static func random(_ random: inout SeededRandom) -> Sheet {
    Sheet(
      title: ["a", "b", "c"][random.below(3)], count: random.below(9), best: random.below(9),
      least: [nil, 1, 2][random.below(3)], tags: Set(["x", "y", "z"].filter { _ in random.below(2) == 0 }),
      names: ["n", "m"].filter { _ in random.below(2) == 0 }, text: ["1\n2\n3\n", "1\n2\n", "0\n"][random.below(3)],
      log: Array(0..<random.below(3)),
      parts: (0..<4).filter { _ in random.below(3) > 0 }.shuffled(using: &random).map { .random($0, &random) },
      main: random.below(3) == 0 ? nil : .random(1, &random), state: ["on", "off", "?"][random.below(3)])
  }
}

private final class Piece: DescribedModel {
  let id: Int
  var name: String
  init(id: Int, name: String) {
    self.id = id
    self.name = name
  }
  static let fields = Fields(
    Piece.self, version: 1, Field("id", \.id), Field("name", \.name), make: { Piece(id: $0, name: $1) })
}

private final class Board: DescribedModel {
  var title: String
  var pieces: [Piece]
  var last: String
  init(title: String, pieces: [Piece], last: String) {
    self.title = title
    self.pieces = pieces
    self.last = last
  }
  static let fields = Fields(
    Board.self, version: 1, Field("title", \.title), Field("pieces", \.pieces, merge: .byID()), Field("last", \.last),
    make: { Board(title: $0, pieces: $1, last: $2) })

  static func random(_ random: inout SeededRandom) -> Board {
    Board(
      title: ["a", "b"][random.below(2)],
      pieces: (0..<4).filter { _ in random.below(4) > 0 }.map {
        Piece(id: $0, name: ["x", "y", "z"][random.below(3)])
      },
      last: ["l", "m"][random.below(2)])
  }

  var snapshot: [String] { [title, last] + pieces.map { "\($0.id) \($0.name) \(ObjectIdentifier($0))" } }
}

@Suite("A failure anywhere in a merge leaves the target unchanged")
struct MergeFailureTests {
  private static let seed = UInt64.random(in: 0 ... .max)

  private struct Injected: Error {}

  private func options(_ selector: String, _ random: inout SeededRandom) -> MergeOptions {
    var options = MergeOptions()
    let policy: MergePolicy =
      random.below(2) == 0
      ? .resolving("failing") { _ in throw Injected() } : .resolving("unfit") { _ in .data(Data([1])) }
    options.policies = [(ValuePath(parsing: selector), policy)]
    return options
  }

  @Test("MG-7: a value is unchanged whichever field fails, with and without a base", .tags(.long))
  func values() throws {
    var random = SeededRandom(seed: Self.seed)
    let places =
      Sheet.schema.fields.map(\.key) + ["parts[*]", "parts[*].name", "parts[*].size", "main.name", "main.size"]
    var failures = 0
    let rounds = Effort.rounds(300, long: 3000)
    for number in 0..<rounds {
      let base = Sheet.random(&random), server = Sheet.random(&random)
      var target = Sheet.random(&random)
      let before = target
      let place = places[random.below(places.count)]
      let options = options(place, &random)
      do {
        let report =
          try random.below(3) == 0
          ? target.merge(.model(server), options: options)
          : target.merge(.model(server), base: base, options: options)
        #expect(report.isEmpty == (target == before), "case \(number), \(place), seed \(Self.seed)")
      } catch {
        failures += 1
        #expect(target == before, "case \(number), \(place), seed \(Self.seed)")
        let error = try #require(error as? ArchiveError)
        #expect(error.code == .mergeFailed, "case \(number), \(place), seed \(Self.seed)")
      }
    }
    #expect(failures > rounds / 10 && failures < rounds * 9 / 10)
  }

  @Test("MG-7: objects keep their values and identities if a merge fails", .tags(.long))
  func objects() throws {
    var random = SeededRandom(seed: Self.seed)
    var failures = 0
    let rounds = Effort.rounds(100, long: 1000)
    for number in 0..<rounds {
      let base = Board.random(&random), server = Board.random(&random)
      let target = Board.random(&random)
      let (object, before, theirs) = (target, target.snapshot, server.snapshot)
      let options = options(["title", "last", "pieces[*].name", "pieces"][random.below(4)], &random)
      do { _ = try target.merge(.model(server), base: base, options: options) } catch {
        failures += 1
        #expect(target.snapshot == before, "case \(number), seed \(Self.seed)")
      }
      #expect(target === object && server.snapshot == theirs, "case \(number), seed \(Self.seed)")
    }
    #expect(failures > rounds / 10 && failures < rounds * 9 / 10)
  }
}
