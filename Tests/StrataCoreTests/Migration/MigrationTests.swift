import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Migration")
struct MigrationTests {
  static let old = PersonV1(fullName: "Ada", street: "Main 1", born: 86400)
  static let new = Person(
    name: "ADA", address: Address(street: "Main 1", country: "CH"), born: Date(timeIntervalSince1970: 86400),
    stars: 0, note: nil, cache: 42)

  @Test("An archive of version 1 decodes as the current model, and the report lists the upgrade (A-19, U-8)")
  func chain() throws {
    var report = DecodingReport()
    let data = try ArchiveEncoder().encode(Self.old)
    #expect(try ArchiveDecoder().decode(Person.self, from: data, report: &report) == Self.new)
    #expect(report.upgrades.map(\.fromVersion) == [1])
    #expect(report.upgrades.map(\.toVersion) == [4])
  }

  @Test("upgrade(data) returns the same bytes as decoding and encoding")
  func upgrade() throws {
    let upgraded = try ArchiveUpgrader(Person.self).upgrade(ArchiveEncoder().encode(Self.old))
    #expect(try upgraded == ArchiveEncoder().encode(Self.new))
    #expect(try ArchiveUpgrader(Person.self).upgrade(upgraded) == upgraded)
  }

  @Test("Upgrading includes models in the payload of an enum")
  func payload() throws {
    struct Parcel: DescribedModel, Equatable {
      var payment: Payment
      static let fields = Fields(
        Parcel.self, version: 2, Field("payment", \.payment, formerly: ["paid"]), make: { Parcel(payment: $0) })
    }
    let parcel = Parcel(payment: .ship(Address(street: "x", country: "CH")))
    let payment = try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(parcel.payment))
    let old = try ArchiveEncoder().encode(ModelRecord(typeName: "Parcel", modelVersion: 1, fields: [("paid", payment)]))
    #expect(try ArchiveUpgrader(Parcel.self).upgrade(old) == ArchiveEncoder().encode(parcel))
  }

  @Test("A newer version at the root or in a nested model throws newerModel (A-7, A-14)")
  func newer() throws {
    let record = ModelRecord(typeName: "Person", modelVersion: 5)
    let error = #expect(throws: ArchiveError.self) {
      try ArchiveDecoder().decode(Person.self, from: ArchiveEncoder().encode(record))
    }
    #expect(error?.code == .newerModel)
    #expect(error?.foundVersion == 5)
    #expect(error?.supportedVersion == 4)
    let nested = ModelRecord(
      typeName: "Person", modelVersion: 4,
      fields: [
        ("name", "A"), ("born", .date(.distantPast)),
        ("address", .record(ModelRecord(typeName: "Address", modelVersion: 2, fields: [("street", "x")]))),
      ])
    let deep = #expect(throws: ArchiveError.self) {
      try ArchiveDecoder().decode(Person.self, from: ArchiveEncoder().encode(nested))
    }
    #expect(deep?.code == .newerModel)
    #expect(deep?.codingPath == [.key("address")])
    #expect(deep?.typeName == "Address")
  }

  @Test("A missing version counts as 0 and is reported (A-9)")
  func missingVersion() throws {
    var report = DecodingReport()
    let data = try ArchiveEncoder().encode(
      ModelRecord(typeName: "Address", modelVersion: nil, fields: [("street", "x")]))
    #expect(try ArchiveDecoder().decode(Address.self, from: data, report: &report).street == "x")
    #expect(report.typesWithoutVersion == ["Address"])
  }

  @Test("A version before the first step throws unsupportedVersion")
  func tooOld() throws {
    let data = try ArchiveEncoder().encode(ModelRecord(typeName: "Person", modelVersion: 0))
    let error = #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode(Person.self, from: data) }
    #expect(error?.code == .unsupportedVersion)
  }

  @Test(
    "A plan with missing, duplicate or superfluous steps is invalid (A-19)",
    arguments: [
      (
        MigrationPlan(.step(from: 1, to: 2), .step(from: 3, to: 4)), 4,
        "the step from version 2 to 3 is missing; add this step"
      ),
      (
        MigrationPlan(.step(from: 1, to: 2), .step(from: 1, to: 2)), 2,
        "the model declares two steps from version 1; remove one of them"
      ),
      (MigrationPlan(.step(from: 1, to: 2)), 3, "the step from version 2 to 3 is missing; add this step"),
      (MigrationPlan(.step(from: 2, to: 3)), 5, "the step from version 3 to 4 is missing; add this step"),
      (
        MigrationPlan(.step(from: 1, to: 3)), 3,
        "the step from version 1 ends at version 3 instead of the next version; declare one step for each version"
      ),
      (
        MigrationPlan(.step(from: 2, to: 1)), 1,
        "the step from version 2 ends at version 1 instead of the next version; declare one step for each version"
      ),
      (
        MigrationPlan(.step(from: 3, to: 4), .step(from: 4, to: 5)), 4,
        "the last step ends at version 5, but the model's version is 4; raise the model's version, or remove the step"
      ),
      (
        MigrationPlan(.step(from: 1, to: 2, .drop("a.*"))), 2,
        "the step from version 1 to 2: the path a.* must consist of keys and indices: * matches every key; write \\* "
          + "for a key named *"
      ),
      (
        MigrationPlan(.step(from: 1, to: 2, .setDefault("a[*].b", 1).ifPresent)), 2,
        "the step from version 1 to 2: the path a[*].b must consist of keys and indices: [*] matches every element; "
          + "write an index, or \\[*] for a key"
      ),
      (
        MigrationPlan(.step(from: 1, to: 2, .move("a", to: "."))), 2,
        "the step from version 1 to 2: the path . does not begin with a key of the record"
      ),
      (
        MigrationPlan(.step(from: 1, to: 2, .convert("[0]", .toString))), 2,
        "the step from version 1 to 2: the path [0] does not begin with a key of the record"
      ),
    ])
  func problems(migration: MigrationPlan, version: Int, reason: String) {
    let error = #expect(throws: ArchiveError.self) { try migration.validate(upTo: version) }
    #expect(error?.code == .invalidMigration)
    #expect(error?.reason == reason)
  }

  @Test(
    "A plan without gaps up to the current version is valid, wherever it starts",
    arguments: [
      (MigrationPlan(), 4), (MigrationPlan(.step(from: 1, to: 2), .step(from: 2, to: 3)), 3),
      (MigrationPlan(.step(from: 3, to: 4)), 4),
    ])
  func rightChains(migration: MigrationPlan, version: Int) {
    #expect(throws: Never.self) { try migration.validate(upTo: version) }
  }

  @Test("Steps can change array elements by index, and wildcard or root paths are rejected")
  func indices() throws {
    func record(_ version: Int, _ fields: KeyValuePairs<String, ArchiveValue>) -> ModelRecord {
      ModelRecord(typeName: "T", modelVersion: version, fields: fields.map { ($0.key, $0.value) })
    }
    let plan = MigrationPlan(
      .step(
        from: 1, to: 2, .move("at[1]", to: "place.lng"), .convert("tags[0].n", .toString), .drop("tags[1]"),
        .setDefault("tags[0].on", true), .replaceNull("at[0]", with: 0)))
    let old = record(1, ["at": [.null, 8.5], "tags": [["n": 1], ["n": 2]], "place": [:]])
    let new = record(2, ["at": [0], "tags": [["n": "1", "on": true]], "place": ["lng": 8.5]])
    #expect(try plan.upgrade(old, isComplete: true) == new)
    for (path, newPath) in [("at[0]", "at[1]"), ("at[0]", "at[1].x"), ("tags[0]", "tags[3]")]
      as [(ValuePath, ValuePath)]
    {
      let plan = MigrationPlan(.step(from: 1, to: 2, .move(path, to: newPath, overwriting: true)))
      let error = #expect(throws: ArchiveError.self) { try plan.upgrade(old, isComplete: true) }
      let cause = error?.underlyingError as? ArchiveError
      #expect(error?.code == .migrationFailed && cause?.reason.contains("within its own array") == true)
    }
    let lacking = #expect(throws: ArchiveError.self) {
      try plan.upgrade(record(1, ["at": [.null], "tags": [], "place": [:]]), isComplete: true)
    }
    let cause = lacking?.underlyingError as? ArchiveError
    #expect(lacking?.code == .migrationFailed && lacking?.codingPath == [.key("at")])
    #expect(cause?.reason.hasPrefix("the index 1 is out of range for an array of 1 element; correct the step") ?? false)
    for path in ["at.*", "."] as [ValuePath] {
      for operation in [
        .drop(path), .setDefault(path, 1), .replaceNull(path, with: 1), .convert(path, .toString),
        .move(path, to: "x"), .move("at", to: path),
      ] as [MigrationOperation] {
        #expect(throws: ArchiveError.self, "\(operation)") {
          try MigrationPlan(.step(from: 1, to: 2, operation)).upgrade(old)
        }
      }
    }
  }

  @Test("Moving null into a nested record does not create the record")
  func movedNulls() throws {
    let creating = MigrationOperation.NestedRecord("Address", version: 1)
    let plan = MigrationPlan(
      .step(
        from: 1, to: 2, .move("street", to: "address.street", creating: creating),
        .move("zip", to: "address.zip", creating: creating)))
    func address(_ street: ArchiveValue, _ zip: ArchiveValue, _ address: ArchiveValue? = nil) throws -> ArchiveValue? {
      var old = ModelRecord(typeName: "T", modelVersion: 1, fields: [("street", street), ("zip", zip)])
      old["address"] = address
      let new = try plan.upgrade(old, isComplete: true)
      #expect(new.shape.keys == ["address"])
      return new["address"]
    }
    func created(_ fields: [(String, ArchiveValue)]) -> ArchiveValue {
      .record(ModelRecord(typeName: "Address", modelVersion: 1, fields: fields))
    }
    #expect(try address(.null, .null) == .null)
    #expect(try address(.null, .null, .null) == .null)
    #expect(try address(.null, "1") == created([("zip", "1")]))
    #expect(try address("a", .null) == created([("street", "a"), ("zip", .null)]))
    #expect(try address(.null, .null, created([])) == created([("street", .null), ("zip", .null)]))
    #expect(try address("a", "1", .null) == created([("street", "a"), ("zip", "1")]))
    #expect(throws: ArchiveError.self) { try address(.null, "1", 3) }
    // In a merge, the record isn't set to null, because that would also clear the fields that the old version does not have.
    let incoming = ModelRecord(typeName: "T", modelVersion: 1, fields: [("street", .null)])
    #expect(try plan.upgrade(incoming)["address"] == created([("street", .null)]))

    let lenient = MigrationPlan(
      .step(from: 1, to: 2, .move("street", to: "address.street", creating: creating).ifPresent))
    #expect(try lenient.upgrade(incoming, isComplete: true)["address"] == .null)
    #expect(try lenient.upgrade(incoming)["address"] == created([("street", .null)]))
    let lacking = ModelRecord(typeName: "T", modelVersion: 1, fields: [])
    #expect(try lenient.upgrade(lacking, isComplete: true)["address"] == nil)
  }

  @Test("The steps of a plan can be listed without running them")
  func listing() {
    #expect(
      Person.migration.steps.map(\.description) == [
        "1 → 2: rename fullName to name, convert born to a date", "2 → 3: move street to address.street",
        "3 → 4: shout the name",
      ])
  }

  @Test("A failing step throws migrationFailed with its path, and the message quotes no value (invariant 4)")
  func failing() throws {
    let data = try ArchiveEncoder().encode(
      ModelRecord(
        typeName: "Person", modelVersion: 1, fields: [("fullName", "A"), ("street", "s"), ("born", "not a date")]))
    let error = #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode(Person.self, from: data) }
    #expect(error?.code == .migrationFailed)
    #expect(error?.codingPath == [.key("born")])
    #expect(error?.description.contains("not a date") == false, "values stay out of messages")
  }

  @Test("Adding or removing a field needs no step, and former keys and names are accepted (A-12, A-18)")
  func additive() throws {
    struct Thing: DescribedModel, Equatable {
      var title: String
      var added: Int
      static let fields = Fields(
        Thing.self, formerNames: ["OldThing"], version: 7, Field("title", \.title, formerly: ["name", "caption"]),
        Field("added", \.added, default: 5), make: { Thing(title: $0, added: $1) })
    }
    for (type, key) in [("Thing", "title"), ("OldThing", "caption"), ("Thing", "name")] {
      let record = ModelRecord(typeName: type, modelVersion: 2, fields: [(key, "t"), ("gone", 1)])
      #expect(try ArchiveDecoder().decode(from: ArchiveEncoder().encode(record)) == Thing(title: "t", added: 5))
    }
    let error = #expect(throws: ArchiveError.self) {
      try ArchiveDecoder().decode(
        Thing.self, from: ArchiveEncoder().encode(ModelRecord(typeName: "Other", modelVersion: 1)))
    }
    #expect(error?.code == .unknownType)
  }

  @Test("A value of the wrong type throws typeMismatch with its path, and a step can convert it (A-13)")
  func otherTypes() throws {
    struct Link: DescribedModel {
      var url: URL
      static let fields = Fields(Link.self, version: 1, Field("url", \.url), make: { Link(url: $0) })
    }
    struct Page: DescribedModel, Migratable {
      var links: [Link]
      static let fields = Fields(Page.self, version: 2, Field("links", \.links), make: { Page(links: $0) })
      static let migration = MigrationPlan(
        .step(from: 1, to: 2, "texts become links") { record in
          let links = record["links"]?.arrayValue ?? []
          record["links"] = try .array(
            links.map { link in
              guard let url = link.stringValue.flatMap({ URL(string: $0) }) else { throw CancellationError() }
              return .record(ModelRecord(typeName: "Link", modelVersion: 1, fields: [("url", .url(url))]))
            })
        })
    }
    let links: ArchiveValue = [.record(ModelRecord(typeName: "Link", modelVersion: 1, fields: [("url", 666)]))]
    let today = ModelRecord(typeName: "Page", modelVersion: 2, fields: [("links", links)])
    let error = #expect(throws: ArchiveError.self) {
      try ArchiveDecoder().decode(Page.self, from: ArchiveEncoder().encode(today))
    }
    #expect(error?.code == .typeMismatch && error?.pathDescription == "links[0].url" && error?.typeName == "Link")
    let old = ModelRecord(typeName: "Page", modelVersion: 1, fields: [("links", ["http://a.b/"])])
    let page = try ArchiveDecoder().decode(Page.self, from: ArchiveEncoder().encode(old))
    #expect(page.links.map(\.url.absoluteString) == ["http://a.b/"])
  }

  @Test("Decoding an archive with a newer version throws newerModel and leaves the file unchanged (A-7, X-8)")
  func newerFile() throws {
    try withFolder { folder in
      let url = folder.appending(path: "newer.strata")
      let data = try ArchiveEncoder().encode(ModelRecord(typeName: "Person", modelVersion: 5, fields: [("name", "A")]))
      try data.write(to: url)
      var report = DecodingReport()
      let error = #expect(throws: ArchiveError.self) {
        try ArchiveDecoder().decode(Person.self, from: url, report: &report)
      }
      #expect(error?.code == .newerModel && report.isEmpty)
      let upgrading = #expect(throws: ArchiveError.self) {
        try ArchiveUpgrader(Person.self).upgrade(Data(contentsOf: url))
      }
      #expect(upgrading?.code == .newerModel)
      #expect(try Data(contentsOf: url) == data)
    }
  }

  @Test("The key hook is called for every field, even an excluded one, and nil keeps the default (A-8, A-10)")
  func hooks() throws {
    struct Hooked: DescribedModel, KeyMigrating, Equatable {
      var name: String
      var count: Int
      var secret: String
      static let fields = Fields(
        Hooked.self, version: 1, Field("name", \.name), Field("count", \.count, default: 7),
        Field("secret", \.secret, archive: .excluded, default: "none"),
        make: { Hooked(name: $0, count: $1, secret: $2) })
      static func decodeValue(forKey key: String, modelVersion: Int, in record: ModelRecord) throws -> ArchiveValue? {
        switch key {
        case "name" where modelVersion == 0: record["mtl_name"]?.stringValue.map { .string("M: " + $0) }
        case "count" where record["count"]?.intValue == 0: nil
        case "secret": "revived"
        default: record[key]
        }
      }
    }
    let old = ModelRecord(typeName: "Hooked", modelVersion: 0, fields: [("mtl_name", "foobar"), ("count", 5)])
    #expect(
      try ArchiveDecoder().decode(from: ArchiveEncoder().encode(old))
        == Hooked(name: "M: foobar", count: 5, secret: "revived"))
    let current = try ArchiveEncoder().encode(Hooked(name: "a", count: 0, secret: "x"))
    #expect(try ArchiveDecoder().decode(from: current) == Hooked(name: "a", count: 7, secret: "revived"))
    #expect(
      try ArchiveUpgrader(Hooked.self).upgrade(ArchiveEncoder().encode(old))
        == ArchiveEncoder().encode(Hooked(name: "M: foobar", count: 5, secret: "revived")))
  }

  @Test("Excluded fields are not written and decode as their default (A-4)")
  func excluded() throws {
    var person = Self.new
    person.cache = 99
    let data = try ArchiveEncoder().encode(person)
    #expect(try ArchiveDecoder().decodeValue(from: data)["cache"] == nil)
    #expect(try ArchiveDecoder().decode(Person.self, from: data).cache == 42)
  }

  @Test("Unknown keys survive decoding, changing and encoding if the model keeps them (U-22)")
  func unknownKeys() throws {
    struct Keeper: VersionedModel, Equatable {
      var id: Int
      var unknownFields = UnknownFields()
      static let schema = ModelSchema(
        Keeper.self, name: "Keeper", version: 1, fields: [FieldInfo("id", Int.self)], keepsUnknownFields: true)
      init(id: Int) { self.id = id }
      init(fields reader: inout ArchiveReader) throws {
        id = try reader.field(0)
        unknownFields = reader.readUnknownFields()
      }
      func encodeFields(to writer: inout ArchiveWriter) throws { try writer.field(0, id) }
      var archivedUnknownFields: UnknownFields { unknownFields }
    }
    let record = ModelRecord(
      typeName: "Keeper", modelVersion: 1, fields: [("id", 1), ("later", ["x": 1]), ("b", .null)])
    var keeper: Keeper = try ArchiveDecoder().decode(from: ArchiveEncoder().encode(record))
    keeper.id = 2
    let again = try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(keeper))
    #expect(again["id"] == 2)
    #expect(again["later"] == ["x": 1])
    #expect(again["b"] == .some(.null))
    #expect(try ArchiveDecoder().decode(from: ArchiveEncoder().encode(keeper)) == keeper)
  }
}
