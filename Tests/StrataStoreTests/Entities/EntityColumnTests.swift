import Foundation
import GRDB
import StrataCore
import StrataStore
import Testing

@Suite("Entities: column values")
struct EntityColumnTests {
  /// A model with a single value, which is stored in one column.
  struct Box<T: Archivable & Sendable & Equatable>: VersionedModel, Entity {
    let id: Int
    var value: T
    static var schema: ModelSchema {
      .cached(Box<T>.self) {
        ModelSchema(
          Box<T>.self, name: "Box<\(T.self)>", version: 1,
          fields: [FieldInfo("id", Int.self), FieldInfo("value", T.self)])
      }
    }
    init(_ value: T) { (id, self.value) = (1, value) }
    init(fields reader: inout ArchiveReader) throws {
      id = try reader.field(0)
      value = try reader.field(1)
    }
    func encodeFields(to writer: inout ArchiveWriter) throws {
      try writer.field(0, id)
      try writer.field(1, value)
    }
    static var entityMapping: EntityMapping { EntityMapping(table: "box") }
  }

  static let declarations = [
    "", "TEXT", "VARCHAR(10)", "INTEGER", "BIGINT", "REAL", "DOUBLE", "NUMERIC", "DATETIME", "BOOLEAN", "BLOB",
    "STRING", "DECIMAL(10,5)",
  ]

  /// Saves a value, reads it back and saves it again. Returns the value that was read and the report of the second save, or `nil` if the
  /// store rejects the value.
  static func saved<T: Archivable & Sendable & Equatable>(_ value: T, _ declared: String) throws -> (T, EntityReport)? {
    let queue = try database { db in try db.execute(sql: "CREATE TABLE box (id INTEGER PRIMARY KEY, value \(declared))")
    }
    let entities = try EntityStore(queue, Box<T>.self)
    do { try entities.saveNow(Box(value)) } catch let error as EntityError {
      #expect(error.code == .notStorable, "\(error)")
      #expect(try queue.lines("SELECT * FROM box").isEmpty)
      return nil
    }
    let found = try queue.read { db in try entities.fetchAll(Box<T>.all(), in: db) }
    return (try #require(found.first).value, try entities.saveNow(Box(value)))
  }

  /// Checks that every value round-trips through every column type or is rejected, and that a second save writes nothing.
  static func check<T: Archivable & Sendable & Equatable>(
    _ values: [T], refused: Set<String> = [], _ line: Int = #line, same: (T, T) -> Bool = { $0 == $1 }
  ) throws {
    for declared in declarations {
      for value in values {
        guard let (back, again) = try saved(value, declared) else {
          #expect(refused.contains(declared) || refused.contains("any"), "\(value) in \(declared), line \(line)")
          continue
        }
        #expect(same(back, value), "\(value) became \(back) in \(declared), line \(line)")
        #expect(again.isEmpty, "\(value) was written again in \(declared), line \(line)")
      }
    }
  }

  @Test("K-5: numbers and booleans round-trip exactly through every column type or are rejected")
  func numbers() throws {
    try Self.check([true, false])
    try Self.check([0, 1, -1, Int.max, Int.min, 1 << 53, (1 << 53) + 1], refused: ["REAL", "DOUBLE"])
    try Self.check([UInt8.min, .max])
    try Self.check([UInt64.max, 7], refused: ["any"])
    try Self.check([Int128.max, 3], refused: ["any"])
    try Self.check([
      0.0, 1, -1.5, 0.1, 1e300, .infinity, -.infinity, .leastNonzeroMagnitude, 9_007_199_254_740_992, 1e18, 1e19,
    ])
    try Self.check([Float(0.1), 3, .greatestFiniteMagnitude])
    #expect(try Self.saved(Double.nan, "REAL") == nil)
    #expect(try Self.saved(Float.nan, "") == nil)
    try Self.check([Optional(5), nil])
  }

  @Test("Strings round-trip exactly, or are rejected if SQLite would convert or truncate them")
  func texts() throws {
    let numbers: Set = [
      "INTEGER", "BIGINT", "REAL", "DOUBLE", "NUMERIC", "DATETIME", "BOOLEAN", "STRING", "DECIMAL(10,5)",
    ]
    try Self.check(["", "a", "é", "e\u{301}", "7a", "1-2", "--1", "inf", "nan", "0x10", " ", "."], refused: [])
    for text in ["007", "7", " 7", "7 ", "1e5", "-.5", "+3", "3.", "1.0", "\t1\n", "9223372036854775808"] {
      try Self.check([text], refused: numbers)
    }
    #expect(try Self.saved("a\u{0}b", "TEXT") == nil)
    try Self.check([URL(string: "https://example.com/ä?b=c#d")!, URL(string: "a")!])
  }

  @Test("Dates, UUIDs, decimals, data and enums round-trip through columns")
  func others() throws {
    let dates = [0, 1, 0.5, 0.123, 1_000_000.123456, 812_345_678.123_456_7, -5e9].map {
      Date(timeIntervalSinceReferenceDate: $0)
    }
    for declared in ["", "TEXT", "DATETIME", "NUMERIC", "BLOB", "STRING"] {
      for date in dates {
        let (back, again) = try #require(try Self.saved(date, declared))
        #expect(back == date, "\(date.timeIntervalSinceReferenceDate) in \(declared)")
        #expect(again.isEmpty)
      }
    }
    for declared in ["REAL", "INTEGER", "DOUBLE", "BIGINT"] {
      for date in dates {
        let (back, again) = try #require(try Self.saved(date, declared))
        #expect(abs(back.timeIntervalSince(date)) < 2.5e-7)
        #expect(again.isEmpty)
      }
    }
    #expect(try Self.saved(Date(timeIntervalSinceReferenceDate: .nan), "TEXT") == nil)
    #expect(try Self.saved(Date(timeIntervalSinceReferenceDate: 1e14), "TEXT") == nil)
    try Self.check([UUID(), UUID(uuidString: "00000000-0000-0000-0000-000000000000")!])
    try Self.check(
      [Decimal(string: "0.1")!, Decimal(string: "12345678901234567890.123456789")!, 0, -7],
      refused: Set(Self.declarations))
    #expect(try Self.saved(Decimal(string: "0.1")!, "NUMERIC")?.0 == Decimal(string: "0.1"))
    #expect(try Self.saved(Decimal.nan, "TEXT") == nil)
    try Self.check([Data(), Data([0, 255, 7])])
    try Self.check([Stage.draft, .closed])
  }

  @Test("Lists, dictionaries and models that are not relations are stored as archives that migrate when read")
  func archives() throws {
    try Self.check([[1, 2], []], refused: [])
    try Self.check([["a": 1], [:]])
    try Self.check([Part(name: "a", weight: 1.5), Part(name: "b", weight: nil)])
    try Self.check([Optional(Reminder.at(Date(timeIntervalSince1970: 5), repeats: nil)), nil])
    let queue = try database { db in try db.execute(sql: "CREATE TABLE box (id INTEGER PRIMARY KEY, value BLOB)") }
    let old = try ArchiveEncoder().encode(ModelRecord(typeName: "Part", modelVersion: 1, fields: [("name", "old")]))
    try queue.write { db in try db.execute(sql: "INSERT INTO box VALUES (1, ?)", arguments: [old]) }
    let entities = try EntityStore(queue, Box<Part>.self)
    let found = try queue.read { db in try entities.fetchAll(Box<Part>.all(), in: db) }
    #expect(found.first?.value == Part(name: "old", weight: nil))
    let newer = try ArchiveEncoder().encode(ModelRecord(typeName: "Part", modelVersion: 9, fields: [("name", "new")]))
    try queue.write { db in try db.execute(sql: "UPDATE box SET value = ?", arguments: [newer]) }
    let error = entityError(.notReadable) { try queue.read { db in try entities.fetchAll(Box<Part>.all(), in: db) } }
    #expect(error?.columns == ["value"])
    #expect((error?.underlyingError as? ArchiveError)?.code == .newerModel)
  }

  @Test("Applying JSON replaces the whole dictionary or list in a column")
  func wholeLists() throws {
    let queue = try database { db in try db.execute(sql: "CREATE TABLE box (id INTEGER PRIMARY KEY, value BLOB)") }
    let counts = try EntityStore(queue, Box<[String: Int]>.self)
    try counts.saveNow(Box(["a": 1, "b": 2]))
    try queue.write { db in
      _ = try counts.apply(.json(["id": 1, "value": ["a": 5]]), to: Box<[String: Int]>.self, in: db)
    }
    #expect(try queue.read { db in try counts.fetchAll(Box<[String: Int]>.all(), in: db) }.map(\.value) == [["a": 5]])
    typealias Parts = Box<[String: [Part]]>
    let parts = try EntityStore(queue, Parts.self)
    try queue.write { db in try db.execute(sql: "DELETE FROM box") }
    try parts.saveNow(Parts(["x": [Part(name: "a", weight: 1)], "y": []]))
    try queue.write { db in
      _ = try parts.apply(.json(["id": 1, "value": ["x": [["name": "b"]]]]), to: Parts.self, in: db)
    }
    #expect(
      try queue.read { db in try parts.fetchAll(Parts.all(), in: db) }.map(\.value) == [
        ["x": [Part(name: "b", weight: nil)]]
      ])
  }

  @Test(
    "Applying JSON skips list elements with unknown cases and keeps local dictionary entries for them"
  )
  func unknownCases() throws {
    let queue = try database { db in
      try db.execute(sql: "CREATE TABLE palette (id INTEGER PRIMARY KEY, list BLOB, named BLOB)")
    }
    let palettes = try EntityStore(queue, Palette.self)
    try palettes.saveNow(Palette(id: 1, list: [.green], named: ["a": .red, "b": .red]))
    let row: ArchiveValue = ["list": ["red", "blue"], "named": ["a": "blue", "b": "green"]]
    try queue.write { db in
      for id in 1...2 as ClosedRange<Int64> {
        guard case .object(var object) = row else { return }
        object["id"] = .int(id)
        _ = try palettes.apply(.json(.object(object)), to: Palette.self, in: db)
      }
    }
    let found = try queue.read { db in try palettes.fetchAll(Palette.order(Column("id")), in: db) }
    #expect(found[0] == Palette(id: 1, list: [.red], named: ["a": .red, "b": .green]))
    #expect(found[1] == Palette(id: 2, list: [.red], named: ["b": .green]))
  }

  @Test("A column with an unreadable value throws an error that names the column and never returns a default")
  func unreadable() throws {
    let queue = try database { db in try db.execute(sql: "CREATE TABLE box (id INTEGER PRIMARY KEY, value)") }
    func check<T: Archivable & Sendable & Equatable>(_ type: T.Type, _ values: [any DatabaseValueConvertible]) throws {
      let entities = try EntityStore(queue, Box<T>.self)
      for value in values {
        try queue.write { db in
          try db.execute(sql: "INSERT OR REPLACE INTO box VALUES (1, ?)", arguments: [value])
          let error = entityError(.notReadable) { try entities.fetchAll(Box<T>.all(), in: db) }
          #expect(
            error?.path.last == .key("value") && error?.entity == "Box<\(T.self)>",
            "\(T.self) \(value) \(String(describing: error))")
        }
      }
    }
    let null = DatabaseValue.null
    try check(Bool.self, [2, "yes", 0.5, Data(), null])
    try check(Int.self, ["x", 1.5, Data(), null, "1.0"])
    try check(UInt8.self, [256, -1])
    try check(Double.self, ["x", Data(), null, "nan", "0x10", "1e400", "1e-400", "9007199254740993", "1.5x", "1,5"])
    try check(Double.self, ["", " ", ".", "12abc", "12 EUR", "0x1p3", "1e", "1.5e400", "0.5e-400", "infinity "])
    try check(Float.self, [0.1, 1e300])
    try check(String.self, [1, 1.5, Data(), null])
    try check(
      Date.self,
      [
        "yesterday", Data(), null, "20260101", "2026", "inf", "nan", Double.infinity, "10:00", "2026-01-01x",
        "2026-02-31", "2026-02-31 10:00", "2026-02-31 10:00:00", "2026-13-01", "2026-01-01 25:00",
        "2026-01-01 24:00:00",
        "2026-01-01 10:60", "2026-01-01T10:00+2:00", "2026-01-01 10:00:00.", "2026-01-01 ", "2026-01-01 10:20.5",
        "2026-01-01T10:20.5Z", "2026-01-01 10:20.5+01:00", "2026-01-01 10:2030", "2026-01-01 10:20 30",
      ])
    try check(UUID.self, ["x", 1, Data([1]), null])
    try check(
      Decimal.self,
      [
        "x", Data(), null, "12abc", "1,5", "3 EUR", "1.2.3", "", "nan", "0x10", "1e999", Double.infinity, 1e300,
        "1.0000000000000000000000000000000000000000001", "12345678901234567890123456789012345678901",
      ])
    try check(Data.self, [1, null])
    try check(Stage.self, ["gone", 1, null])
    try check([Int].self, [Data([1]), "x", null])
  }

  @Test("Dates in every SQLite format, and decimals and doubles with any number of digits, are read")
  func spellings() throws {
    let queue = try database { db in try db.execute(sql: "CREATE TABLE box (id INTEGER PRIMARY KEY, value TEXT)") }
    func value<T: Archivable & Sendable & Equatable>(_ type: T.Type, _ text: String) throws -> T? {
      let entities = try EntityStore(queue, Box<T>.self)
      return try queue.write { db in
        try db.execute(sql: "INSERT OR REPLACE INTO box VALUES (1, ?)", arguments: [text])
        return try entities.fetchOne(Box<T>.all(), in: db)?.value
      }
    }
    // 1 January 2026, 10:20.
    let time = Date(timeIntervalSince1970: 1_767_262_800)
    let dates: [(String, TimeInterval)] = [
      ("2026-01-01", -37_200), ("2026-01-01 10:20", 0), ("2026-01-01T10:20", 0), ("2026-01-01 10:20:30", 30),
      ("2026-01-01T10:20:30", 30), ("2026-01-01 10:20:30.5", 30.5), ("2026-01-01T10:20:30.0625", 30.0625),
      ("2026-01-01 10:20Z", 0), ("2026-01-01T10:20+02:00", -7200), ("2026-01-01 10:20:30-01:30", 5430),
      ("2026-01-01 10:20:30.5Z", 30.5), ("2026-01-01T10:20:30.5+00:30", -1769.5),
    ]
    for (text, seconds) in dates { #expect(try value(Date.self, text) == time + seconds, "\(text)") }
    let decimals: [(String, Decimal)] = [
      ("+5", 5), ("-0.50", Decimal(-5) / 10), ("1.5e2", 150), (".25", Decimal(25) / 100), ("007", 7),
      ("1E+3", 1000), ("0.0", 0),
      ("1" + String(repeating: "0", count: 41), Decimal(sign: .plus, exponent: 41, significand: 1)),
    ]
    for (text, number) in decimals { #expect(try value(Decimal.self, text) == number, "\(text)") }
    let doubles: [(String, Double)] = [
      ("inf", .infinity), ("-inf", -Double.infinity), ("1e3", 1000), ("+0.10", 0.1), ("7", 7),
      // SQLite spells infinity like this.
      ("Inf", .infinity), ("-Inf", -Double.infinity),
      // More digits than the shortest spelling has, as C's `%.17g` prints them.
      ("0.10000000000000001", 0.1), ("-0.30000000000000004441", -(0.1 + 0.2)), ("3.14159265358979323846", .pi),
      ("9.9999999999999992e+22", 1e23), ("9007199254740993.0", 0x1p53), ("0.00e5", 0),
    ]
    for (text, number) in doubles {
      #expect(try value(Double.self, text) == number, "\(text)")
    }
  }

  @Test("Seconds and milliseconds in a TEXT column may be whole or fractional but must be finite")
  func numbersOfDates() throws {
    struct Times: DescribedModel, Entity {
      let id: Int
      var seconds: Date
      var milliseconds: Date
      static let fields = Fields(
        Times.self, version: 1, Field("id", \.id), Field("seconds", \.seconds), Field("milliseconds", \.milliseconds),
        make: { Times(id: $0, seconds: $1, milliseconds: $2) })
      static let entityMapping = EntityMapping(
        table: "times",
        columns: [
          "seconds": .date("seconds", .secondsSince1970), "milliseconds": .date("milliseconds", .millisecondsSince1970),
        ])
    }
    let queue = try database { db in
      try db.execute(sql: "CREATE TABLE times (id INTEGER PRIMARY KEY, seconds TEXT, milliseconds TEXT)")
    }
    let entities = try EntityStore(queue, Times.self)
    let times = Times(
      id: 1, seconds: Date(timeIntervalSince1970: 0.5), milliseconds: Date(timeIntervalSince1970: -5.25))
    try entities.saveNow(times)
    #expect(try queue.lines("SELECT * FROM times") == ["1|0.5|-5250"])
    let back = try queue.read { db in try entities.fetchOne(Times.all(), in: db) }
    #expect(back?.seconds == times.seconds && back?.milliseconds == times.milliseconds)
    for column in ["seconds", "milliseconds"] {
      for text in ["inf", "nan", "12x", "0x10", "1e400"] {
        try queue.write { db in
          try db.execute(sql: "INSERT OR REPLACE INTO times VALUES (1, 1, 1)")
          try db.execute(sql: "UPDATE times SET \(column) = ?", arguments: [text])
          let error = entityError(.notReadable) { try entities.fetchAll(Times.all(), in: db) }
          #expect(error?.columns == [column], "\(text)")
        }
      }
    }
  }

  @Test("Errors do not quote a value that a Codable type rejects")
  func refusedByCodable() throws {
    let queue = try database { db in try db.execute(sql: "CREATE TABLE paint (id INTEGER PRIMARY KEY, tone BLOB)") }
    let entities = try EntityStore(queue, Paint.self)
    let other = try ArchiveEncoder().encode(OldPaint.Tone(name: "purple"))
    let error = try queue.write { db in
      try db.execute(sql: "INSERT INTO paint VALUES (1, ?)", arguments: [other])
      return entityError(.notReadable) { try entities.fetchAll(Paint.all(), in: db) }
    }
    let text = try #require(error).description
    #expect(!text.contains("purple") && text.contains("paint.tone") && text.contains("Name"), "\(text)")
    let cause = DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "purple"))
    let errors: [any Error] = [
      EntityError(.notReadable, "no", underlying: cause),
      EntityError(.invalid, "no", underlying: ArchiveError(.rejected, "refused", underlying: cause)),
    ]
    for error in errors { #expect(!"\(error)".contains("purple"), "\(error)") }
  }

  @Test("O-3, O-4: columns can use a transformer, JSON or a date format, or be read-only or unmapped")
  func forms() throws {
    struct Forms: DescribedModel, Entity, Equatable {
      let id: Int
      var flag: Bool
      var tags: [String]
      var seen: Date
      var made: Int
      var cache: Int

      static let fields = Fields(
        Forms.self, version: 1, Field("id", \.id), Field("flag", \.flag), Field("tags", \.tags), Field("seen", \.seen),
        Field("made", \.made, default: 0), Field("cache", \.cache, default: 3),
        make: { Forms(id: $0, flag: $1, tags: $2, seen: $3, made: $4, cache: $5) })
      static let entityMapping = EntityMapping(
        table: "forms",
        columns: [
          "flag": .column("flag", by: ReversibleTransformer<String, Bool>({ $0 == "Y" }, reverse: { $0 ? "Y" : "N" })),
          "tags": .json("tags"), "seen": .date("seen", .millisecondsSince1970), "made": .readOnly("made"),
          "cache": .none,
        ])
    }
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE forms (id INTEGER PRIMARY KEY, flag TEXT NOT NULL, tags TEXT NOT NULL, seen INTEGER NOT NULL,
          made INTEGER NOT NULL GENERATED ALWAYS AS (id * 2) STORED)
          """)
    }
    let entities = try EntityStore(queue, Forms.self)
    let forms = Forms(id: 4, flag: true, tags: ["a", "b"], seen: Date(timeIntervalSince1970: 5.25), made: 77, cache: 9)
    try entities.saveNow(forms)
    #expect(try queue.lines("SELECT * FROM forms") == [#"4|Y|["a","b"]|5250|8"#])
    let back = try queue.read { db in try #require(try entities.fetchOne(Forms.all(), in: db)) }
    #expect(back == Forms(id: 4, flag: true, tags: ["a", "b"], seen: forms.seen, made: 8, cache: 3))
    #expect(try entities.saveNow(forms).isEmpty)
  }
}

private struct Palette: DescribedModel, Equatable, Entity {
  enum Colour: String, Archivable { case red, green }
  var id: Int
  var list: [Colour]
  var named: [String: Colour]
  static let fields = Fields(
    Palette.self, version: 1, Field("id", \.id), Field("list", \.list, unknown: .useDefault, default: []),
    Field("named", \.named, unknown: .useDefault, default: [:]),
    make: { Palette(id: $0, list: $1, named: $2) })
  static let entityMapping = EntityMapping(table: "palette")
}

private struct Paint: DescribedModel, Entity {
  struct Tone: Codable, Equatable {
    enum Name: String, Codable { case red }
    var name: Name
  }
  var id: Int
  var tone: Tone
  static let fields = Fields(
    Paint.self, version: 1, Field("id", \.id), Field("tone", \.tone), make: { Paint(id: $0, tone: $1) })
  static let entityMapping = EntityMapping(table: "paint")
}

private enum OldPaint {
  struct Tone: Codable { var name: String }
}
