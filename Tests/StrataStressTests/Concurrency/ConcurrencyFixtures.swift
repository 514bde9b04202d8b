import Foundation
import StrataCore

// Models that only these suites use.

/// A class with a reference back to its owner.
final class Branch: DescribedModel {
  var name: String
  var leaves: [Branch]
  weak var parent: Branch?

  init(_ name: String, leaves: [Branch] = [], parent: Branch? = nil) {
    (self.name, self.leaves, self.parent) = (name, leaves, parent)
  }

  static let fields = Fields(
    Branch.self, version: 1, Field("name", \.name), Field("leaves", \.leaves), Field("parent", \.parent),
    make: { Branch($0, leaves: $1, parent: $2) })

  /// A tree of about a hundred leaves, each with a reference to its parent.
  static func tree(_ number: Int) -> Branch {
    let root = Branch("root \(number)")
    for place in 0..<10 {
      let branch = Branch("\(number).\(place)", parent: root)
      branch.leaves = (0..<10).map { Branch("\($0)", parent: branch) }
      root.leaves.append(branch)
    }
    return root
  }
}

/// A generic model. Each depth of nesting is a separate type with its own schema.
struct Onion<Inner: Archivable & Equatable>: VersionedModel, Equatable {
  var inner: Inner
  var note: String?

  static var schema: ModelSchema {
    ModelSchema.cached(Onion.self) {
      ModelSchema(
        Onion.self, name: "Onion<\(Inner._archiveTypeName)>", version: 1,
        fields: [FieldInfo("inner", Inner.self), FieldInfo("note", String?.self, json: "meta.note")])
    }
  }

  init(_ inner: Inner, note: String? = nil) { (self.inner, self.note) = (inner, note) }

  init(fields reader: inout ArchiveReader) throws {
    inner = try reader.field(0)
    note = try reader.field(1)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, inner)
    try writer.field(1, note)
  }
}

extension Onion: Sendable where Inner: Sendable {}

enum Signal: String, Archivable, CaseIterable { case red, green }

/// One field per predefined transformer.
struct Survey: DescribedModel, Equatable {
  var day: Date
  var month: Date
  var stamp: Date
  var seconds: Date
  var millis: Date
  var whole: Date
  var amount: Double
  var percent: Double
  var page: URL
  var escaped: URL
  var id: UUID
  var flag: Bool
  var signal: Signal
  var level: Int
  var hex: Int
  var days: [Date]
  var note: String?
  var owner: Owner?

  static let fields = Fields(
    Survey.self, version: 1,
    Field("day", \.day, json: .path("dates.day", .date(format: "yyyy-MM-dd"))),
    Field("month", \.month, json: .path("dates.month", .date(format: "d MMMM yyyy"))),
    Field("stamp", \.stamp, json: .path("dates.stamp", .iso8601)),
    Field("seconds", \.seconds, json: .path("seconds", .secondsSince1970)),
    Field("millis", \.millis, json: .path("millis", .millisecondsSince1970)),
    Field("whole", \.whole, json: .path("whole", .wholeSecondsSince1970)),
    Field("amount", \.amount, json: .path("amount", .number())),
    Field("percent", \.percent, json: .path("percent", .number(style: .percent))),
    Field("page", \.page, json: .path("page", .url)),
    Field("escaped", \.escaped, json: .path("escaped", .url(percentEncoding: true))),
    Field("id", \.id, json: .path("id", .uuid)),
    Field("flag", \.flag, json: .path("flag", .boolean(writing: .number))),
    Field("signal", \.signal, json: .path("signal", .cases(Signal.self, aliases: ["stop": .red]))),
    Field("level", \.level, json: .path("level", .values(["low": 1, "high": 9]))),
    Field(
      "hex", \.hex,
      json: .path("hex", .formatter(Int.self, parse: { Int($0, radix: 16) }, format: { String($0, radix: 16) }))),
    Field("days", \.days, json: .path("days", ReversibleTransformer.date(format: "yyyy-MM-dd").array)),
    Field("note", \.note, json: .firstOf("note", "remark")),
    Field("owner", \.owner),
    make: {
      Survey(
        day: $0, month: $1, stamp: $2, seconds: $3, millis: $4, whole: $5, amount: $6, percent: $7, page: $8,
        escaped: $9, id: $10, flag: $11, signal: $12, level: $13, hex: $14, days: $15, note: $16, owner: $17)
    })

  static let text = """
    {"dates":{"day":"2020-02-03","month":"3 February 2020","stamp":"2020-02-03T04:05:06Z"},"seconds":1580688000.5,\
    "millis":1580688000123,"whole":1580688000,"amount":"12,345.678","percent":"25%","page":"https://example.com/a",\
    "escaped":"https://example.com/a%20b","id":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F","flag":1,"signal":"green",\
    "level":"high","hex":"ff","days":["2020-01-01","2020-01-02"],"note":null,\
    "owner":{"login":"ada","joined":"1970-01-01T00:00:00Z"}}
    """
}

struct Owner: DescribedModel, Equatable {
  var login: String
  var joined: Date
  static let fields = Fields(
    Owner.self, version: 1, Field("login", \.login), Field("joined", \.joined),
    make: { Owner(login: $0, joined: $1) })
}

struct Circle: DescribedModel, Equatable {
  var radius: Double
  static let fields = Fields(Circle.self, version: 1, Field("radius", \.radius), make: { Circle(radius: $0) })
}

struct Rectangle: DescribedModel, Equatable {
  var width: Double
  var height: Double
  static let fields = Fields(
    Rectangle.self, version: 1, Field("width", \.width), Field("height", \.height),
    make: { Rectangle(width: $0, height: $1) })
}

enum Figure: Equatable, Sendable {
  case circle(Circle)
  case rectangle(Rectangle)
}
