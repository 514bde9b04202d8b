import StrataCore

/// The errors of the fixtures' own rules.
enum Blame: Error, Equatable { case nameMissing, tooLong(Int), odd }

struct Tag: DescribedModel, Validating, Equatable {
  var name: String
  static let fields = Fields(Tag.self, name: "Tag", version: 1, Field("name", \.name), make: { Tag(name: $0) })
  static let validation = Validation<Tag>(.check("name", \.name, .nonEmpty))
}

/// A model with every kind of rule; they are given in another order than the fields.
struct Entry: DescribedModel, Validating, Equatable {
  let id: Int
  var title: String
  var note: String?
  var stars = 0
  var start = 0
  var end = 0
  var tags: [Tag] = []

  static let fields = Fields(
    Entry.self, name: "Entry", version: 2, Field("id", \.id), Field("title", \.title, formerly: ["headline"]),
    Field("note", \.note), Field("stars", \.stars, default: 0), Field("start", \.start, default: 0),
    Field("end", \.end, default: 0), Field("tags", \.tags, merge: .byID("name"), default: []),
    make: { Entry(id: $0, title: $1, note: $2, stars: $3, start: $4, end: $5, tags: $6) })

  static let validation = Validation<Entry>(
    .model("it ends before it starts", at: "end") { $0.end >= $0.start },
    .replace("stars", \.stars) { stars in
      guard stars % 2 == 0 else { throw Blame.odd }
      return max(0, stars)
    },
    .check("note", \.note, .nonEmpty, .length(...5)),
    .check("title", \.title, .nonEmpty, .matches(/[a-z ]+/)),
    .check("id", \.id, .range(1...)))
}

/// An entry that breaks no rule.
let goodEntry = Entry(id: 1, title: "a title", tags: [Tag(name: "x")])

/// The failures of what the body throws, one a line.
func failures(_ body: () throws -> some Any) -> [String] {
  do {
    _ = try body()
    return []
  } catch let error as ArchiveError where error.code == .invalid {
    return error.failures.map(\.description)
  } catch { return ["\(error)"] }
}
