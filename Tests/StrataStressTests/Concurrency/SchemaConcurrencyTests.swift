import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// Models that no other test uses, so that many tasks request their schemas and cached metadata for the first time at once.
private struct FirstMet: DescribedModel, Equatable, Validating {
  var id: Int
  var name: String?
  var inner: [FirstInner]
  static let fields = Fields(
    FirstMet.self, version: 1, Field("id", \.id), Field("name", \.name, json: "meta.name"), Field("inner", \.inner),
    make: { FirstMet(id: $0, name: $1, inner: $2) })
  static let validation = Validation<FirstMet>(.check("name", \.name, .nonEmpty, .matches(/[a-z]+/)))
}

private struct FirstInner: DescribedModel, Equatable, Migratable {
  var payment: Payment
  var next: [FirstMet]
  static let fields = Fields(
    FirstInner.self, version: 2, Field("payment", \.payment), Field("next", \.next),
    make: { FirstInner(payment: $0, next: $1) })
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("paid", to: "payment")))
}

/// Archives a generic model at each level of nesting, which creates one schema per level.
private func peel<Inner: Archivable & Equatable & Sendable>(_ inner: Inner, levels: Int) throws {
  guard levels > 0 else { return }
  let onion = Onion(inner, note: "\(levels)")
  #expect(try ArchiveDecoder().decode(Onion<Inner>.self, from: ArchiveEncoder().encode(onion)) == onion)
  #expect(try Onion<Inner>(fromJSON: onion.jsonData()) == onion)
  #expect(Onion<Inner>.schema === Onion<Inner>.schema)
  try peel(onion, levels: levels - 1)
}

@Suite("Schema Concurrency")
struct SchemaConcurrencyTests {
  @Test("X-1, M-15: a hundred tasks use a schema for the first time")
  func first() async {
    let met = FirstMet(
      id: 1, name: "ada", inner: [FirstInner(payment: .cash, next: [FirstMet(id: 2, name: nil, inner: [])])])
    await hundredTasks(share: met, rounds: 1) { met, task in
      // The tasks start with different operations.
      switch task % 4 {
      case 0: #expect(try ArchiveDecoder().decode(FirstMet.self, from: ArchiveEncoder().encode(met)) == met)
      case 1: #expect(try FirstMet(fromJSON: met.jsonData()) == met)
      case 2: #expect(try JSONAdapter<FirstMet>().decode(JSONAdapter<FirstMet>().encode(met)) == met)
      default: #expect(try FirstMet(dictionary: met.dictionaryValue) == met)
      }
      #expect(FirstMet.schema.fingerprint == FirstMet.fields.schema.fingerprint)
      var other = met
      try other.mergeValues(from: met)
      #expect(try other == met.copy())
    }
  }

  @Test("X-1, M-15: a hundred tasks use generic models for the first time and share one schema per type")
  func generic() async {
    await hundredTasks(share: 8, rounds: 1) { levels, task in
      if task % 2 == 0 { try peel(task, levels: levels) } else { try peel("\(task)", levels: levels) }
    }
  }
}
