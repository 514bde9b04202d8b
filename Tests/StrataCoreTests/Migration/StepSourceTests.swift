import Foundation
import Strata
import StrataTestSupport
import Testing

/// A step changes existing keys, or reports those that are missing.
@Suite("Migration steps and the keys they change")
struct StepSourceTests {
  @Model(version: 2, name: "Note")
  struct Note: Equatable, Migratable {
    var title = ""
    var place: Spot?
    static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("caption", to: "title")))
  }

  @Model(version: 1, name: "Spot")
  struct Spot: Equatable {
    var city = ""
    var zip = 0
  }

  private static func record(_ fields: [(key: String, value: ArchiveValue)]) -> ModelRecord {
    ModelRecord(typeName: "Note", modelVersion: 1, fields: fields)
  }

  private static func apply(
    _ operation: MigrationOperation, to fields: [(key: String, value: ArchiveValue)], isComplete: Bool = true
  ) throws -> ModelRecord {
    try MigrationPlan(.step(from: 1, to: 2, operation)).upgrade(record(fields), isComplete: isComplete)
  }

  @Test("A step fails if a complete record lacks its key, and the error lists the existing keys")
  func missing() throws {
    let data = try ArchiveEncoder().encode(Self.record([("captoin", "Hello"), ("place", .null)]))
    let error = archiveError { try ArchiveDecoder().decode(Note.self, from: data) }
    #expect(error?.code == .migrationFailed)
    #expect(error?.description.contains("captoin, place") == true, "\(String(describing: error))")
    #expect(archiveError { try ArchiveUpgrader(Note.self).upgrade(data) }?.code == .migrationFailed)
    // The error names at most twenty keys.
    let many = try ArchiveEncoder().encode(Self.record((0..<1000).map { ("key\($0)", 1) }))
    let bounded = archiveError { try ArchiveDecoder().decode(Note.self, from: many) }?.description ?? ""
    #expect(bounded.contains("key19 and 980 more") && bounded.count < 500, "\(bounded)")
    // A partial record for a merge may lack the key.
    var note = Note(title: "here")
    try note.merge(.archive(data))
    #expect(note.title == "here")
  }

  @Test(
    "Operations fail if their key is absent, except with ifPresent or in a partial record",
    arguments: [
      .rename("a", to: "b"), .move("a", to: "b"), .move("c.a", to: "b"), .convert("a", .toString),
      .convert("c.a", .toString),
    ] as [MigrationOperation])
  func operations(operation: MigrationOperation) throws {
    let fields: [(key: String, value: ArchiveValue)] = [("c", .object(["d": 1])), ("e", 2)]
    #expect(archiveError { try Self.apply(operation, to: fields) }?.code == .migrationFailed)
    for lenient in [
      try Self.apply(operation.ifPresent, to: fields), try Self.apply(operation, to: fields, isComplete: false),
    ] {
      #expect(lenient.object == Self.record(fields).object)
    }
    // A nested record that is null has no keys.
    let null = try? Self.apply(operation, to: [("a", 3), ("c", .null)])
    #expect(null != nil)
  }

  @Test("If both keys exist, a move or rename fails unless `overwriting` is true")
  func occupied() throws {
    let fields: [(key: String, value: ArchiveValue)] = [("a", 1), ("b", 2), ("c", .object(["d": 3]))]
    for isComplete in [true, false] {
      for operation in [MigrationOperation.rename("a", to: "b"), .move("a", to: "b"), .move("a", to: "c.d")] {
        #expect(
          archiveError { try Self.apply(operation, to: fields, isComplete: isComplete) }?.code == .migrationFailed)
        let optional = archiveError { try Self.apply(operation.ifPresent, to: fields, isComplete: isComplete) }
        #expect(optional?.code == .migrationFailed)
      }
    }
    #expect(try Self.apply(.rename("a", to: "b", overwriting: true), to: fields)["b"] == 1)
    #expect(try Self.apply(.move("a", to: "b", overwriting: true), to: fields)["b"] == 1)
    #expect(try Self.apply(.move("a", to: "c.d", overwriting: true), to: fields)["c"] == .object(["d": 1]))
  }

  @Test("Keys that differ only in Unicode normalization are distinct")
  func spellings() throws {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    let fields: [(key: String, value: ArchiveValue)] = [(composed, 1), (decomposed, 2)]
    for operation in [
      MigrationOperation.rename(composed, to: decomposed),
      .move(ValuePath(key: composed), to: ValuePath(key: decomposed)),
    ] {
      #expect(archiveError { try Self.apply(operation, to: fields) }?.code == .migrationFailed)
    }
    let renamed = try Self.apply(.rename(composed, to: decomposed, overwriting: true), to: fields)
    #expect(renamed.keys.map { Array($0.utf8) } == [Array(decomposed.utf8)] && renamed[decomposed] == 1)
  }

  @Test("A default is set in an existing nested record, and does not create one")
  func nestedDefault() throws {
    let operation = MigrationOperation.setDefault("c.d", 5)
    #expect(try Self.apply(operation, to: [("c", .object(["e": 1]))])["c"] == .object(["e": 1, "d": 5]))
    #expect(try Self.apply(operation, to: [("c", .object(["d": .null]))])["c"] == .object(["d": .null]))
    #expect(try Self.apply(operation, to: [("c", .null)])["c"] == .null)
    #expect(try Self.apply(operation, to: [("e", 1)]).keys == ["e"])
    #expect(archiveError { try Self.apply(operation, to: [("c", 1)]) }?.code == .migrationFailed)
  }

  @Model(version: 3, name: "Wrong")
  struct Wrong: Migratable {
    var title = ""
    static let migration = MigrationPlan(
      .step(from: 1, to: 2, .rename("caption", to: "titel")), .step(from: 2, to: 3, .drop("stars")))
  }

  @Model(version: 3, name: "Right")
  struct Right: Migratable {
    @Field(formerly: "heading") var title = ""
    static let migration = MigrationPlan(
      .step(from: 1, to: 2, .rename("caption", to: "name"), .setDefault("old", 1), .drop("old")),
      .step(from: 2, to: 3, .rename("name", to: "heading")))
  }

  @Model(version: 3, name: "Open")
  struct Open: Migratable {
    var title = ""
    static let migration = MigrationPlan(
      .step(from: 1, to: 2, .rename("caption", to: "titel")),
      .step(from: 2, to: 3, "name it") { record in record.rename("titel", to: "title") })
  }

  @Test("A step that writes a key that neither a field nor a later step reads is an invalid migration")
  func targets() throws {
    let error = archiveError { try Wrong.schema.check() }
    #expect(error?.code == .invalidMigration && error?.description.contains("titel") == true)
    try Right.schema.check()
    try Open.schema.check()
    let record = ModelRecord(typeName: "Right", modelVersion: 1, fields: [("caption", "x")])
    #expect(try ArchiveDecoder().decode(Right.self, from: ArchiveEncoder().encode(record)).title == "x")
  }

  @Model(version: 2, name: "Kept")
  struct Kept: Migratable {
    var title = ""
    var stars = 3
    static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("caption", to: "title").ifPresent))
  }

  @Test("The report on an older record lists the unused keys and the defaulted fields")
  func report() throws {
    let record = ModelRecord(typeName: "Kept", modelVersion: 1, fields: [("caption", "x"), ("color", "red")])
    var report = DecodingReport()
    let kept = try ArchiveDecoder().decode(Kept.self, from: ArchiveEncoder().encode(record), report: &report)
    #expect(kept.title == "x")
    #expect(report.unusedKeys.map(\.description) == ["Kept.color"])
    #expect(report.defaultedKeys.map(\.description) == ["Kept.stars"])
    #expect(report.description == "Kept 1 → 2, 1 object; no field reads Kept.color; defaults for Kept.stars")
    // A record of the current version is not reported, even if it lacks fields.
    let today = ModelRecord(typeName: "Kept", modelVersion: 2, fields: [("title", "x")])
    report = DecodingReport()
    _ = try ArchiveDecoder().decode(Kept.self, from: ArchiveEncoder().encode(today), report: &report)
    #expect(report.upgrades.isEmpty && report.unusedKeys.isEmpty && report.defaultedKeys.isEmpty)
    #expect(report.typesWithOtherFields == ["Kept"])
  }

  enum Before {
    @Model(version: 4, name: "Card")
    struct Card { var number = 0 }
  }

  enum After {
    @Model(version: 4, name: "Card")
    struct Card { var number: String }
    @Model(version: 4, name: "Card")
    struct More { var number = 0; var color = "" }
    @Model(version: 5, name: "Card")
    struct Newer { var color: String }
  }

  @Test("Different fields under the same version are mentioned in the error or the report")
  func sameVersion() throws {
    let data = try ArchiveEncoder().encode([Before.Card(number: 1)])
    let error = archiveError { try ArchiveDecoder().decode([After.Card].self, from: data) }
    #expect(error?.code == .typeMismatch)
    // Fields of the same names have the same fingerprint even if their types differ, so the error does not mention other fields.
    #expect(error?.description.contains("other fields") == false)
    var report = DecodingReport()
    #expect(try ArchiveDecoder().decode([After.More].self, from: data, report: &report).count == 1)
    #expect(report.typesWithOtherFields == ["Card"])
    #expect(report.description == "the archive has the current version of Card but different fields")
    #expect(report.unusedKeys.isEmpty)
    let more = try ArchiveEncoder().encode(ModelRecord(typeName: "Card", modelVersion: 4, fields: [("digits", 1)]))
    let missing = archiveError { try ArchiveDecoder().decode(After.Card.self, from: more) }
    #expect(
      missing?.code == .missingValue && missing?.description.contains("but with different fields, so raise") == true)
    // Without migration steps, every older archive lacks the keys that the new version adds.
    let newer = archiveError { try ArchiveDecoder().decode(After.Newer.self, from: data) }
    let listed = archiveError { try ArchiveDecoder().decode([After.Newer].self, from: data) }
    #expect(newer?.code == .typeMismatch)
    for error in [listed] {
      #expect(error?.description.contains("version 4 of Card wrote the archive, but Card has no steps") == true)
      #expect(error?.description.contains("conform Card to Migratable") == true)
    }
    #expect(listed?.code == .missingValue)
  }

  enum Saved {
    @Model(version: 1, name: "Inner")
    struct Inner { var a = 0; var b = "" }
    @Model(version: 1, name: "Ride")
    enum Ride { case train(number: String), walk(Int), bus(line: String) }
    @Model(version: 1, name: "Outer")
    struct Outer { var id = 0; var inner = Inner(); var rides: [Ride] = [] }
  }

  enum Changed {
    @Model(version: 1, name: "Inner")
    struct Inner: Equatable { var a = 0; var c: String? }
    @Model(version: 1, name: "Ride")
    enum Ride: Equatable { case train(nr: String?), walk(Int), bus }
    @Model(version: 1, name: "Outer")
    struct Outer: Equatable { var id = 0; var inner = Inner(); var rides: [Ride] = [] }
    @Model(version: 2, name: "Outer")
    struct Next { var id = 0; var inner = Inner(); var rides: [Ride] = [] }
    @Model(version: 1, name: "Inner")
    struct Keeping { var a = 0; var unknownFields = UnknownFields() }
    @Model(version: 1, name: "Outer")
    struct Holder { var inner = Keeping() }
  }

  @Model(version: 1, name: "Inner")
  struct Hooked: KeyMigrating {
    var a = 0
    static func decodeValue(forKey key: String, modelVersion: Int, in record: ModelRecord) throws -> ArchiveValue? {
      .integer(record["b"]?.stringValue?.count ?? 0)
    }
  }

  @Model(version: 1, name: "Outer")
  struct HookedOuter { var inner = Hooked() }

  enum Retyped {
    @Model(version: 1, name: "Timer")
    struct Old { var seconds = "40" }
    @Model(version: 2, name: "Timer")
    struct Timer { var seconds = 0 }
  }

  @Test("A value of an older version with another type names the missing conversion")
  func missingConversion() throws {
    let data = try ArchiveEncoder().encode(Retyped.Old())
    let error = #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode(Retyped.Timer.self, from: data) }
    #expect(error?.code == .typeMismatch)
    #expect(error?.description.contains("version 1 of Timer wrote the archive") == true)
    #expect(error?.description.contains(".convert") == true)
  }

  @Test("A model with a hook is not reported, because the hook can read any key")
  func hooksReadAnyKey() throws {
    let data = try ArchiveEncoder().encode(Saved.Outer(inner: Saved.Inner(a: 1, b: "four")))
    var report = DecodingReport()
    #expect(try ArchiveDecoder().decode(HookedOuter.self, from: data, report: &report).inner.a == 4)
    #expect(report.unusedKeys.map(\.description) == ["Outer.id", "Outer.rides"])
    #expect(report.typesWithOtherFields == ["Outer"])
  }

  @Test("The report of the associated values that a case lacks is limited")
  func manyLabels() throws {
    let labels = (0..<1_500).map { (key: "l\($0)", value: ArchiveValue.integer($0)) }
    let payload = ArchiveObject(labels.map { ArchiveObject.Entry(key: $0.key, value: $0.value) })
    let record = ModelRecord(typeName: "Ride", modelVersion: 1, fields: [("train", .object(payload))])
    var report = DecodingReport()
    let ride = try ArchiveDecoder().decode(Changed.Ride.self, from: ArchiveEncoder().encode(record), report: &report)
    #expect(ride == .train(nr: nil))
    #expect(report.unusedKeys.count == 1_000)
    #expect(report.typesWithOtherFields == ["Ride"])
  }

  @Test("The report lists lost keys of nested models and enum cases that were changed without a new version")
  func nestedSameVersion() throws {
    let saved = Saved.Outer(
      inner: Saved.Inner(a: 1, b: "kept?"), rides: [.train(number: "IC"), .walk(3), .bus(line: "9")])
    let data = try ArchiveEncoder().encode(saved)
    var report = DecodingReport()
    let opened = try ArchiveDecoder().decode(Changed.Outer.self, from: data, report: &report)
    #expect(opened == Changed.Outer(inner: Changed.Inner(a: 1, c: nil), rides: [.train(nr: nil), .walk(3), .bus]))
    #expect(report.unusedKeys.map(\.description) == ["Inner.b", "Ride.train.number", "Ride.bus.line"])
    #expect(report.typesWithOtherFields == ["Inner", "Ride"])
    report = DecodingReport()
    _ = try ArchiveDecoder().decode(Changed.Next.self, from: data, report: &report)
    #expect(report.unusedKeys.map(\.description) == ["Inner.b", "Ride.train.number", "Ride.bus.line"])
    // A model that keeps unknown fields loses nothing.
    report = DecodingReport()
    _ = try ArchiveDecoder().decode(Changed.Holder.self, from: data, report: &report)
    #expect(report.unusedKeys.map(\.description) == ["Outer.id", "Outer.rides"])

    // An `ArchiveFile` makes a copy of the previous file before it replaces it.
    try withFolder { (folder: URL) throws in
      let url = folder.appending(path: "outer.strata")
      try data.write(to: url)
      let file = ArchiveFile<Changed.Outer>(url)
      let loaded = try #require(try file.load())
      try file.save(loaded.value)
      #expect(try Data(contentsOf: file.previousURL) == data)
    }
  }

  @Model(version: 2, name: "Dotted")
  struct Dotted: Migratable {
    var name = ""
    static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("place.nam", to: "place.name")))
  }

  @Test("A rename with a path suggests move")
  func renamedPath() throws {
    let error = archiveError { try ArchiveEncoder().encode(Dotted()) }
    #expect(error?.code == .invalidMigration && error?.reason.contains("use .move instead of .rename") == true)
  }
}
