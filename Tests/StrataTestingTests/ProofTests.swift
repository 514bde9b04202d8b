import Foundation
import StrataCore
import StrataTestSupport
import StrataTesting
import Testing

/// A nested model with a key that is missing from records that a migration step creates.
struct Tip: DescribedModel {
  var title: String?
  var details: String?

  static let fields = Fields(
    Tip.self, version: 1, Field("title", \.title), Field("details", \.details),
    make: { Tip(title: $0, details: $1) })
}

/// The versions of a model in successive releases of an app, with one migration step from each version to the next.
struct History: Sendable, CustomTestStringConvertible {
  let name: String
  var versions: [Probe.Declaration]
  /// A part of the message that reports the fault, or `nil` if there is no fault.
  var fault: String?
  var testDescription: String { name }

  init(_ name: String, fault: String? = nil, _ fields: [[FieldInfo]], _ steps: [MigrationOperation]...) {
    (self.name, self.fault) = (name, fault)
    let chain = steps.enumerated().map { MigrationStep(fromVersion: $0 + 1, toVersion: $0 + 2, operations: $1) }
    versions = fields.enumerated().map { place, fields in
      Probe.Declaration(version: place + 1, fields: [Change.id] + fields, steps: Array(chain.prefix(place)))
    }
  }

  private static let title = FieldInfo("title", String.self)
  private static let note = FieldInfo("note", String?.self)
  private static let stars = FieldInfo("stars", Int.self)

  private static func faulty(
    _ name: String, fault: String, _ before: [FieldInfo] = [title, note], _ after: [FieldInfo] = [title, note],
    _ transform: @escaping @Sendable (inout ModelRecord) throws -> Void
  ) -> History { History(name, fault: fault, [before, after], [.custom("tidy up", transform)]) }

  static let faults: [History] = [
    faulty("a closure drops a value", fault: "of the step from version 1 to 2 removes the key note") {
      $0["note"] = nil
    },
    faulty(
      "a closure swaps two values", fault: "of the step from version 1 to 2 changes the key",
      [title, FieldInfo("note", String.self)]
    ) {
      ($0["title"], $0["note"]) = ($0["note"], $0["title"])
    },
    faulty("a closure truncates a text", fault: "of the step from version 1 to 2 changes the key title") { record in
      record["title"] = record["title"]?.stringValue.map { .string(String($0.prefix(40))) }
    },
    faulty("a closure fails for null", fault: "the operation “tidy up” of the step") { record in
      guard record["note"]?.stringValue != nil else { throw CocoaError(.featureUnsupported) }
    },
    faulty("a closure fails for an empty text", fault: "the operation “tidy up” of the step") { record in
      guard record["title"]?.stringValue?.first != nil else { throw CocoaError(.featureUnsupported) }
    },
    faulty(
      "a closure depends on the order of the keys",
      fault: "the value of title is different when the record is opened with"
    ) {
      record in
      record["first"] = .string(record.keys.first ?? "")
    }.with { history in
      history.versions[1].fields.append(FieldInfo("first", String.self))
      history.fault = "the value of first is different when the record is opened with its keys in a different order"
    },
    faulty(
      "a closure gives a random value", fault: "returns a different result each time", [title],
      [title, FieldInfo("key", UUID.self)]
    ) {
      $0["key"] = .uuid(UUID())
    },
    faulty(
      "a closure changes the kind of a value", fault: "of the step from version 1 to 2 changes the key stars", [stars],
      [stars]
    ) {
      record in
      record["stars"] = record["stars"]?.intValue.map { .string("\($0)") }
    },
    History(
      "a closure changes a key besides those that it declares",
      fault: "“tidy up” of the step from version 1 to 2 changes the key note",
      [[title, note], [title, note]],
      [
        .custom("tidy up", changes: ["title"]) { record in
          (record["title"], record["note"]) = ("", "none")
        }
      ]),
    History(
      "a misspelled rename is optional",
      fault: "the key summary is lost between versions 1 and 2, but no step drops it",
      [[FieldInfo("summary", String.self)], [FieldInfo("title", String.self, default: { "" })]],
      [.rename("sumary", to: "title").ifPresent, .custom("nothing") { _ in }]),
    History(
      "a later step reads a key that a version in between no longer has",
      fault: "the value of memo is different when the record is opened after version 2 has opened and saved it",
      [[note], [], [FieldInfo("memo", String?.self)]], [.custom("nothing") { _ in }],
      [.rename("note", to: "memo").ifPresent]),
    History(
      "a conversion fails for some values", fault: "the operation “convert a value to an integer” of the step",
      [[title], [FieldInfo("title", Int.self)]],
      [.convert("title", .toInteger)]),
    History(
      "a closure misspells the key of a nested record",
      fault: "the steps write the key titel, but the current version of Hint has no field with this key",
      [[note], [FieldInfo("hint", Hint?.self)]],
      [
        .custom("make a hint", changes: ["note"]) { record in
          let note = record.removeValue(forKey: "note") ?? .null
          record["hint"] = note.isNull ? .null : .record("Hint", version: 1, ["titel": note])
        }
      ]),
    History(
      "a later step replaces a null that a new nested record lacks",
      fault: "the value of tip is different when the record is opened after version 2 has opened and saved it",
      [[note], [FieldInfo("tip", Tip?.self)], [FieldInfo("tip", Tip?.self)]],
      [.move("note", to: "tip.title", creating: .init("Tip", version: 1))],
      [.replaceNull("tip.details", with: "none")]),
    History(
      "a default replaces no null", fault: "a record cannot be opened", [[note], [FieldInfo("note", String.self)]],
      [.setDefault("note", "")]),
  ]

  static let correct: [History] = [
    History(
      "operations",
      [
        [title, note, stars], [FieldInfo("name", String.self), note, stars],
        [FieldInfo("name", String.self), FieldInfo("stars", String.self)],
      ],
      [.rename("title", to: "name")], [.drop("note"), .convert("stars", .toString)]),
    History(
      "a declared closure", [[title, note], [title, note]],
      [
        .custom("trim the title", changes: ["title"]) { record in
          record["title"] = record["title"]?.stringValue.map { .string($0.trimmingCharacters(in: .whitespaces)) }
        }
      ]),
    History(
      "a declared random value", [[title], [title, FieldInfo("key", UUID.self)]],
      [.custom("make a key", changes: ["key"]) { $0["key"] = .uuid(UUID()) }]),
    History("a closure that adds a key", [[title], [title, stars]], [.custom("no stars") { $0["stars"] = 0 }]),
    History(
      "a default that changes",
      [[], [FieldInfo("stars", Int.self, default: { 3 })], [FieldInfo("stars", Int.self, default: { 4 })]], [],
      []),
    History(
      "a default that is new each time", [[title], [title, FieldInfo("key", UUID.self, default: { UUID() })]], []),
    History(
      "a former key",
      [
        [title], [FieldInfo("heading", String.self, formerly: ["title"])],
        [FieldInfo("headline", String.self, formerly: ["heading", "title"])],
      ],
      [], []),
    History(
      "a value that moves", [[title], [FieldInfo("text", Text?.self)]],
      [.move("title", to: "text.title", creating: .init("Text", version: 1))]),
    History(
      "a later step replaces a null in a new nested record",
      [[note], [FieldInfo("tip", Tip?.self)], [FieldInfo("tip", Tip?.self)]],
      [.move("note", to: "tip.title", creating: .init("Tip", version: 1)), .setDefault("tip.details", .null)],
      [.replaceNull("tip.details", with: "none")]),
    History(
      "enums, collections and a model inside",
      [
        [
          FieldInfo("state", State.self), FieldInfo("texts", [Text].self), FieldInfo("numbers", [Int: Date].self),
          FieldInfo("names", Set<String>.self),
        ],
        [
          FieldInfo("state", OtherValues.self), FieldInfo("texts", [Text].self), FieldInfo("numbers", [Int: Date].self),
          FieldInfo("names", Set<String>.self),
        ],
      ],
      [.convert("state", .mapping(["open": "o", "draft": "draft", "closed": "closed"]))]),
    History(
      "an optional that becomes required", [[note], [FieldInfo("note", String.self)]], [.replaceNull("note", with: "")]),
  ]

  private func with(_ change: (inout History) -> Void) -> History {
    var history = self
    change(&history)
    return history
  }
}

extension ProbeTests {
  @Suite("Proofs of steps") struct ProofTests {
    private func problems(
      _ history: History, _ folder: URL, archives: Int = 60, values: [String: [ArchiveValue]] = [:]
    ) throws -> [String] {
      do {
        for version in history.versions {
          Probe.declare(version)
          try SchemaLock(Probe.self, folder: folder, records: true, values: values).check()
        }
      } catch is SchemaLockError {
        // The lock already reports some of the faults and then refuses to record the version. In that case, each version is recorded
        // separately.
        return try recordedAnyway(history, folder, archives)
      }
      return try proof(folder, archives, values)
    }

    private func proof(_ folder: URL, _ archives: Int, _ values: [String: [ArchiveValue]] = [:]) throws -> [String] {
      do { try SchemaLock(Probe.self, folder: folder, values: values).prove(archives: archives, seed: 7) } catch let
        error as SchemaLockError
      { return error.problems }
      return []
    }

    /// Records each version in its own folder, so that no version has to open the golden archives of older ones. Then runs the proof for
    /// all versions.
    private func recordedAnyway(_ history: History, _ folder: URL, _ archives: Int) throws -> [String] {
      try FileManager.default.removeItem(at: folder.appendingPathComponent("Issue"))
      for version in history.versions {
        Probe.declare(version)
        try withFolder { (single: URL) throws in
          try SchemaLock(Probe.self, folder: single, records: true).check()
          try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("Issue"), withIntermediateDirectories: true)
          for kind in ["json", "strata"] {
            let name = "Issue/\(version.version).\(kind)"
            try FileManager.default.copyItem(
              at: single.appendingPathComponent(name), to: folder.appendingPathComponent(name))
          }
        }
      }
      return try proof(folder, archives)
    }

    @Test("A proof finds each kind of fault", arguments: History.faults)
    func faults(history: History) throws {
      try withFolder { (folder: URL) throws in
        let found = try problems(history, folder)
        #expect(found.contains { $0.contains(history.fault ?? "") && $0.contains("seed 7") }, "\(found)")
      }
    }

    @Test("A proof passes correct steps", arguments: History.correct)
    func correct(history: History) throws {
      try withFolder { (folder: URL) throws in
        #expect(try problems(history, folder, archives: Effort.rounds(200, long: 5000)) == [])
      }
    }

    @Test("A fault is reported with only the fields that cause it")
    func shrunk() throws {
      let history = try #require(History.faults.first { $0.name.contains("truncates") })
      try withFolder { (folder: URL) throws in
        let found = try problems(history, folder, archives: 500)
        #expect(found.count == 1)
        #expect(
          found[0].contains("(found with the values title: \"long long") && !found[0].contains("note:"), "\(found)")
      }
    }

    @Test("A proof of a conversion passes with sample values from the app")
    func values() throws {
      let history = try #require(History.faults.first { $0.name.contains("a conversion fails") })
      try withFolder { (folder: URL) throws in
        #expect(try problems(history, folder, values: ["Issue.title": ["0", "17", "-3"]]) == [])
      }
    }

    enum Unlisted: String, Archivable { case open, closed }
    struct Tag: RawRepresentable, Archivable { var rawValue: String }

    @Test(
      "A proof requires an enum to be CaseIterable, even for versions recorded earlier")
    func unlistedEnum() throws {
      func versions<T: Archivable>(_ type: T.Type) -> [Probe.Declaration] {
        let old = FieldInfo("tags", [String: [T?]].self)
        return History("", [[old, FieldInfo("state", T.self)], [old, FieldInfo("state", T?.self)]], []).versions
      }
      try withFolder { (folder: URL) throws in
        for version in versions(Unlisted.self) {
          Probe.declare(version)
          try SchemaLock(Probe.self, folder: folder, records: true).check()
        }
        let found = try proof(folder, 60)
        #expect(found.count == 2)
        #expect(
          found.allSatisfy { $0.contains("the enum Unlisted does not list its cases; make the enum CaseIterable") },
          "\(found)")
        let given = ["Issue.tags": [], "Issue.state": ["open"]] as [String: [ArchiveValue]]
        #expect(try !proof(folder, 60, given).contains { $0.contains("CaseIterable") })
        Probe.declare(versions(State.self)[1])
        #expect(try proof(folder, 60) == [])
      }
      #expect(
        try withFolder { (folder: URL) throws in try problems(History("", [[FieldInfo("tag", Tag.self)]]), folder) }
          == [])
    }

    @Test("Changing a closure after its version was recorded is a problem")
    func changedClosure() throws {
      func history(_ text: String) -> History {
        History(
          "", [[FieldInfo("title", String.self)], [FieldInfo("title", String.self)]],
          [
            .custom("mark the title", changes: ["title"]) {
              $0["title"] = .string(($0["title"]?.stringValue ?? "") + text)
            }
          ])
      }
      try withFolder { (folder: URL) throws in
        #expect(try problems(history("!"), folder) == [])
        Probe.declare(history("?").versions[1])
        let error = #expect(throws: SchemaLockError.self) {
          try SchemaLock(Probe.self, folder: folder, records: false).check()
        }
        #expect(
          error?.problems.count == 1
            && error?.problems[0].contains("to different values than when version 2 was recorded") == true,
          "\(error?.problems ?? [])")
      }
    }

    /// Conditions that must not affect the result of a step. In this test, they do.
    enum Surroundings: String, CaseIterable { case timeZone, locale, typeOfToday }

    @Test(
      "A closure that depends on the time zone, the locale or a current type is a problem",
      arguments: Surroundings.allCases)
    func surroundings(_ surroundings: Surroundings) throws {
      let isElsewhere = Mutex(false)
      let history = History(
        "", [[FieldInfo("day", Date.self)], [FieldInfo("day", String.self)]],
        [
          .custom("describe the day", changes: ["day"]) { record in
            guard case .date(let date)? = record["day"] else { return }
            let isElsewhere = isElsewhere.withLock { $0 }
            // Simulates a different time zone, a different locale, or a release in which a type has other cases.
            switch surroundings {
            case .timeZone:
              var calendar = Calendar(identifier: .gregorian)
              calendar.timeZone = TimeZone(secondsFromGMT: isElsewhere ? 5 * 3600 : 0) ?? .current
              record["day"] = .string("\(calendar.component(.hour, from: date))")
            case .locale:
              let formatter = NumberFormatter()
              formatter.locale = Locale(identifier: isElsewhere ? "de_DE" : "en_US_POSIX")
              formatter.minimumFractionDigits = 1
              let number = NSNumber(value: date.timeIntervalSinceReferenceDate + 0.5)
              record["day"] = formatter.string(from: number).map { .string($0) }
            case .typeOfToday:
              let names = isElsewhere ? ["work", "weekend", "holiday"] : ["work", "weekend"]
              record["day"] = .string(names[Int(date.timeIntervalSinceReferenceDate.magnitude) % names.count])
            }
          }
        ])
      try withFolder { (folder: URL) throws in
        #expect(try problems(history, folder) == [])
        isElsewhere.withLock { $0 = true }
        let error = #expect(throws: SchemaLockError.self) {
          try SchemaLock(Probe.self, folder: folder, records: false).check()
        }
        #expect(error?.problems.first?.contains("the locale, the time zone") == true, "\(error?.problems ?? [])")
      }
    }
  }
}
