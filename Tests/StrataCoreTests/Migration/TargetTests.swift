import Foundation
import Strata
import StrataCore
import Testing

private struct Town: DescribedModel, Migratable {
  var name: String?
  static let fields = Fields(
    Town.self, name: "Town", version: 3, Field("name", \.name, formerly: ["title"]), make: { Town(name: $0) })
  static let migration = MigrationPlan(
    .step(from: 1, to: 2, .rename("label", to: "caption")), .step(from: 2, to: 3, .rename("caption", to: "name")))
}

private struct Address: DescribedModel {
  var city: String?
  var town: Town?
  var towns: [Town]?
  static let fields = Fields(
    Address.self, name: "Address", version: 1, Field("city", \.city), Field("town", \.town), Field("towns", \.towns),
    make: { Address(city: $0, town: $1, towns: $2) })
}

@Model(version: 1)
private struct OpenTown {
  var name: String?
  var unknownFields = UnknownFields()
}

@Model(version: 1)
private class House {
  var city: String?
}

/// A model whose migration steps are chosen by each test.
private struct Person: Migratable {
  @TaskLocal static var operations: [MigrationOperation] = []

  static var migration: MigrationPlan {
    MigrationPlan([MigrationStep(fromVersion: 1, toVersion: 2, operations: operations)])
  }

  static func check(_ operations: [MigrationOperation]) throws {
    try $operations.withValue(operations) {
      try ModelSchema(
        Person.self, name: "Person", version: 2,
        fields: [
          FieldInfo("address", Address?.self, formerly: ["home"]), FieldInfo("addresses", [Address].self),
          FieldInfo("byName", [String: Address].self), FieldInfo("house", House?.self), FieldInfo("city", String?.self),
          FieldInfo("value", ArchiveValue.self), FieldInfo("open", OpenTown?.self),
        ]
      ).check()
    }
  }
}

@Suite("Paths that migration steps write")
struct TargetTests {
  private struct Mistake {
    var operations: [MigrationOperation]
    var problem: String

    init(_ operations: MigrationOperation..., problem: String) {
      (self.operations, self.problem) = (operations, problem)
    }
  }

  private static let address = MigrationOperation.NestedRecord("Address", version: 1)

  private static let mistakes: [Mistake] = [
    Mistake(
      .move("x", to: "address.ctiy", creating: address),
      problem: "the step from version 1 to 2 writes the path address.ctiy, but Address has no field with the key ctiy"),
    Mistake(.move("x", to: "address.ctiy"), problem: "address.ctiy"),
    Mistake(.move("x", to: "home.ctiy"), problem: "home.ctiy"),
    Mistake(.move("x", to: "address.ctiy").ifPresent, problem: "address.ctiy"),
    Mistake(.setDefault("address.ctiy", ""), problem: "address.ctiy"),
    Mistake(.replaceNull("address.ctiy", with: ""), problem: "address.ctiy"),
    Mistake(.convert("address.ctiy", .toString), problem: "address.ctiy"),
    Mistake(.move("x", to: "addresses[0].ctiy"), problem: "addresses[0].ctiy"),
    Mistake(.move("x", to: "byName.a.ctiy"), problem: "byName.a.ctiy"),
    Mistake(.move("x", to: "address.town.nam"), problem: "Town has no field with the key nam"),
    Mistake(.move("x", to: "address.towns[1].nam"), problem: "Town has no field with the key nam"),
    Mistake(.move("x", to: "house.ctiy", creating: .init("House", version: 1)), problem: "House has no field"),
    Mistake(.move("x", to: "address.ctiy"), .drop("address.city"), problem: "address.ctiy"),
    Mistake(.custom("any") { _ in }, .move("x", to: "address.ctiy"), problem: "address.ctiy"),
    Mistake(
      .move("x", to: "address.city", creating: .init("Adress", version: 1)),
      problem: "the field has the type Address; pass creating: .init(\"Address\", version: 1)"),
    Mistake(
      .move("x", to: "address.city", creating: .init("Address", version: 2)),
      problem: "the model's version is 1; pass creating: .init(\"Address\", version: 1)"),
  ]

  @Test("A path into a nested model that no field reads is an error", arguments: mistakes)
  private func mistake(_ mistake: Mistake) throws {
    let error = #expect(throws: ArchiveError.self) { try Person.check(mistake.operations) }
    #expect(error?.code == .invalidMigration)
    #expect(error?.reason.contains(mistake.problem) == true, "\(String(describing: error))")
  }

  @Test(
    "A path that a field or a later operation reads is not an error",
    arguments: [
      [.move("x", to: "address.city", creating: address)], [.move("x", to: "home.city")],
      [.move("x", to: "addresses[0].city")], [.move("x", to: "byName.a.city")], [.move("x", to: "value.anything")],
      [.move("x", to: "address.town.name")], [.move("x", to: "address.town.title")],
      // Older records of `Town` have these keys.
      [.move("x", to: "address.town.label")], [.move("x", to: "address.town.caption")],
      // A record of a subclass can have more keys.
      [.move("x", to: "house.rooms")], [.move("x", to: "house.rooms", creating: .init("Villa", version: 1))],
      // A model that keeps unknown fields accepts any key.
      [.move("x", to: "open.anything")],
      [.move("x", to: "address.ctiy"), .move("address.ctiy", to: "city")],
      [.move("x", to: "address.ctiy"), .drop("address")], [.drop("address.ctiy")],
      [.move("x", to: "address.ctiy"), .custom("any") { _ in }],
      [.move("x", to: "address.ctiy"), .custom("correct", changes: ["address"]) { _ in }],
    ] as [[MigrationOperation]])
  func correct(operations: [MigrationOperation]) throws { try Person.check(operations) }

  @Test("A created record of an older version is read by the later steps of its model")
  func createdVersions() throws {
    func check(_ key: String, version: Int) throws {
      try Person.$operations.withValue([
        .move("x", to: ValuePath("town", key), creating: .init("Town", version: version))
      ]) {
        try ModelSchema(Person.self, name: "Person", version: 2, fields: [FieldInfo("town", Town?.self)]).check()
      }
    }
    try check("label", version: 1)
    try check("caption", version: 2)
    #expect(throws: ArchiveError.self) { try check("label", version: 2) }
    #expect(throws: ArchiveError.self) { try check("caption", version: 3) }
    try check("name", version: 3)
  }
}
