package import StrataCore

/// The errors that the fixtures' rules throw.
package enum Blame: Error, Equatable { case nameMissing, tooLong(Int), odd }

package struct EntryTag: DescribedModel, Validating, Equatable {
  package var name: String
  package init(name: String) { self.name = name }
  package static let fields = Fields(
    EntryTag.self, name: "Tag", version: 1, Field("name", \.name), make: { EntryTag(name: $0) })
  package static let validation = Validation<EntryTag>(.check("name", \.name, .nonEmpty))
}

/// A model with every kind of rule, in a different order than the fields.
package struct Entry: DescribedModel, Validating, Equatable {
  package let id: Int
  package var title: String
  package var note: String?
  package var stars = 0
  package var start = 0
  package var end = 0
  package var tags: [EntryTag] = []

  package init(
    id: Int, title: String, note: String? = nil, stars: Int = 0, start: Int = 0, end: Int = 0, tags: [EntryTag] = []
  ) {
    (self.id, self.title, self.note) = (id, title, note)
    (self.stars, self.start, self.end, self.tags) = (stars, start, end, tags)
  }

  package static let fields = Fields(
    Entry.self, name: "Entry", version: 2, Field("id", \.id), Field("title", \.title, formerly: ["headline"]),
    Field("note", \.note), Field("stars", \.stars, default: 0), Field("start", \.start, default: 0),
    Field("end", \.end, default: 0), Field("tags", \.tags, merge: .byID("name"), default: []),
    make: { Entry(id: $0, title: $1, note: $2, stars: $3, start: $4, end: $5, tags: $6) })

  package static let validation = Validation<Entry>(
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
package let goodEntry = Entry(id: 1, title: "a title", tags: [EntryTag(name: "x")])

/// The failures of the thrown error, one per line.
package func failures(_ body: () throws -> some Any) -> [String] {
  do {
    _ = try body()
    return []
  } catch let error as ArchiveError where error.code == .invalid {
    return error.failures.map(\.description)
  } catch { return ["\(error)"] }
}
