import Foundation
import StrataCore

extension Runner {
  /// Compares the cost of merging at a size of 100,000 with the cost at a size of 1,000. The cost is measured per object of a graph that
  /// both sides edited, and per key of a flat object.
  func compareMergingOfGraphs() throws {
    try compareGraphs("grow/merge-graph", Crowd.linked)
    try compareGraphs("grow/merge-chain", Crowd.chain)
    guard wants("grow/merge-keys") else { return }
    let (many, few) = (FlatSides(100_000), FlatSides(1000))
    try time("grow/merge-keys", inverted: true, oursPer: 100_000, theirsPer: 1000) {
      consume(try many.merged())
    } theirs: {
      consume(try few.merged())
    }
  }

  private func compareGraphs(_ name: String, _ make: (Int) -> Crowd) throws {
    guard wants(name) else { return }
    let sizes = [100_000, 1000]
    var runs: [() throws -> Void] = []
    for size in sizes {
      let (base, server) = (make(size), make(size))
      server.edit(every: 10, "server")
      let merge = { (local: Crowd) in try local.merge(.model(server), base: base) }
      let local = make(size)
      local.edit(every: 7, "local")
      let report = try merge(local)
      guard report.conflicts.count == (size + 69) / 70, local.people.count(where: { $0.name == "server" }) > 0 else {
        throw Failure("\(name) did not merge: \(report.conflicts.count) conflicts")
      }
      // Restores the local edits first, because otherwise a second merge would change nothing.
      runs.append {
        local.edit(every: 10, "p")
        local.edit(every: 7, "local")
        consume(try merge(local))
      }
    }
    try time(name, inverted: true, oursPer: sizes[0], theirsPer: sizes[1]) {
      try runs[0]()
    } theirs: {
      try runs[1]()
    }
  }
}

/// People who know each other.
private final class Crowd: DescribedModel {
  var people: [Person] = []

  static let fields = Fields(
    Crowd.self, version: 1, Field("people", \.people, merge: .byID()),
    make: {
      let crowd = Crowd()
      crowd.people = $0
      return crowd
    })

  /// Each person refers to three others, so there are many cycles. Together with the list of people, there are four references to each
  /// person.
  static func linked(_ count: Int) -> Crowd {
    let crowd = Crowd()
    crowd.people = (0..<count).map { Person(id: $0, name: "p", others: []) }
    for (place, person) in crowd.people.enumerated() {
      person.others = [1, 17, 911].map { crowd.people[(place * 3 + $0) % count] }
    }
    return crowd
  }

  /// Each person refers only to the next one.
  static func chain(_ count: Int) -> Crowd {
    let crowd = Crowd()
    crowd.people = (0..<count).map { Person(id: $0, name: "p", others: []) }
    for place in 0..<count - 1 { crowd.people[place].others = [crowd.people[place + 1]] }
    return crowd
  }

  func edit(every step: Int, _ name: String) {
    for place in stride(from: 0, to: people.count, by: step) { people[place].name = name }
  }

  deinit {
    // Releasing a long list recursively would overflow the stack.
    for person in people { person.others = [] }
  }
}

private final class Person: DescribedModel {
  let id: Int
  var name: String
  var others: [Person]

  init(id: Int, name: String, others: [Person]) { (self.id, self.name, self.others) = (id, name, others) }

  static let fields = Fields(
    Person.self, version: 1, Field("id", \.id), Field("name", \.name), Field("others", \.others),
    make: { Person(id: $0, name: $1, others: $2) })
}

/// Three versions of a flat object. The local side and the server each changed some keys.
private struct FlatSides {
  private let base: ArchiveValue
  private let local: ArchiveValue
  private let server: ArchiveValue

  init(_ count: Int) {
    func object(_ value: (Int) -> Int) -> ArchiveValue {
      .object(ArchiveObject((0..<count).map { .init(key: "key \($0)", value: .integer(value($0))) }))
    }
    base = object { $0 }
    local = object { $0 % 7 == 0 ? -1 : $0 }
    server = object { $0 % 10 == 0 ? -2 : $0 }
  }

  func merged() throws -> MergeReport { try Merger().merge(server, into: local, base: base).report }
}
