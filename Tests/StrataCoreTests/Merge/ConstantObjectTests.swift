import Foundation
import Strata
import StrataTestSupport
import Testing

@Model(version: 1)
private final class Author: Sendable {
  let id: Int
  let name: String

  init(id: Int, name: String) {
    self.id = id
    self.name = name
  }
}

@Model(version: 1)
private final class Reading: Sendable {
  let id: Int
  let value: Double

  init(id: Int, value: Double) { (self.id, self.value) = (id, value) }
}

@Model(version: 1)
private struct Post {
  var id: Int
  var author: Author
  var reviewers: [Author] = []
  @Field(merge: .keepLocal) var draft: String = ""
}

@Model(version: 1)
private final class Shelf {
  var authors: [String: Author] = [:]
  var first: Author?

  init(_ first: Author) { (authors, self.first) = (["a": first], first) }
}

@Model(version: 1)
private final class Signature: Sendable {
  let id: Int
  let author: Author

  init(id: Int, author: Author) {
    self.id = id
    self.author = author
  }
}

@Model(version: 1)
private struct Letter {
  var signature: Signature
  var author: Author
}

@Model(version: 1)
private class Rower: @unchecked Sendable {
  let id: Int
  let name: String

  init(id: Int, name: String) { (self.id, self.name) = (id, name) }
}

@Model(version: 1, superclass: Rower.self)
private final class Captain: Rower, @unchecked Sendable {
  let rank: Int

  init(id: Int, name: String, rank: Int) {
    self.rank = rank
    super.init(id: id, name: name)
  }
}

@Model(version: 1)
private struct Boat { var captain: Rower }

@Model(version: 1)
private final class Row {
  let id: Int
  let name: String
  @Field(storage: .none) var isSelected = false

  init(id: Int, name: String) { (self.id, self.name) = (id, name) }
}

@Model(version: 1)
private final class Kept {
  let id: Int
  let name: String
  var unknownFields = UnknownFields()

  init(id: Int, name: String) { (self.id, self.name) = (id, name) }
}

@Model(version: 1)
private struct RowTable {
  var row: Row?
  var kept: Kept?
}

@Model(version: 1)
private final class Observer {
  weak var author: Author?
  var count = 0

  init(_ author: Author) { self.author = author }
}

@Suite("Merging: objects with only constant properties")
struct ConstantObjectTests {
  private func json(_ text: String) -> MergeSource { .json(Data(text.utf8)) }

  @Test("A changed object is replaced at every reference")
  func replaced() throws {
    let old = Author(id: 7, name: "Ann"), other = Author(id: 8, name: "Ben")
    var post = Post(id: 1, author: old, reviewers: [old, other], draft: "d")
    let report = try post.merge(json(#"{"id":1,"author":{"id":7,"name":"Anna"}}"#))
    #expect(post.author.name == "Anna" && post.author !== old && old.name == "Ann")
    #expect(post.reviewers[0] === post.author && post.reviewers[1] === other && post.draft == "d")
    #expect(report.entries.contains { "\($0.path)" == "author.name" && $0.outcome == .server }, "\(report)")
  }

  @Test("A changed object is replaced in another object's fields and dictionaries")
  func inObjects() throws {
    let shelf = Shelf(Author(id: 7, name: "Ann"))
    try shelf.merge(.model(Shelf(Author(id: 7, name: "Anna"))))
    #expect(shelf.first?.name == "Anna" && shelf.authors["a"] === shelf.first)
  }

  @Test("A changed object is replaced in a list; NaN on both sides counts as unchanged")
  func inLists() throws {
    let ann = Author(id: 7, name: "Ann"), ben = Author(id: 8, name: "Ben")
    var authors = [ann, ben]
    try authors.merge(.json(Data(#"[{"id":7,"name":"Anna"},{"id":8,"name":"Ben"}]"#.utf8)), by: "id")
    #expect(authors.map(\.name) == ["Anna", "Ben"] && authors[0] !== ann && authors[1] === ben)
    let reading = Reading(id: 1, value: .nan)
    var readings = [reading]
    try readings.mergeValues(from: [Reading(id: 1, value: .nan), Reading(id: 2, value: 0)], by: "id")
    #expect(readings.count == 2 && readings[0] === reading)
  }

  @Test("A local edit is kept, and edits on both sides are a conflict")
  func threeWay() throws {
    let base = Post(id: 1, author: Author(id: 7, name: "Ann"))
    var post = Post(id: 1, author: Author(id: 7, name: "Anni"))
    try post.merge(json(#"{"id":1,"author":{"id":7,"name":"Ann"}}"#), base: base)
    #expect(post.author.name == "Anni")
    let report = try post.merge(
      json(#"{"id":1,"author":{"id":7,"name":"Anna"}}"#), base: base, options: MergeOptions())
    #expect(report.conflicts.count == 1 && report.conflicts.allSatisfy { "\($0.path)" == "author.name" }, "\(report)")
  }

  @Test("An unchanged object keeps its identity")
  func unchanged() throws {
    let author = Author(id: 7, name: "Ann")
    var post = Post(id: 1, author: author)
    let report = try post.merge(json(#"{"id":1,"author":{"id":7,"name":"Ann"}}"#))
    #expect(post.author === author && report.isEmpty)
  }

  @Test("Replacing the root or an object held by a constant throws and changes nothing")
  func refused() throws {
    let author = Author(id: 7, name: "Ann")
    let error = #expect(throws: ArchiveError.self) { try author.merge(json(#"{"id":7,"name":"Anna"}"#)) }
    #expect(error?.code == .mergeFailed && error?.pathDescription == "name", "\(error as Any)")
    var letter = Letter(signature: Signature(id: 1, author: author), author: author)
    #expect(throws: ArchiveError.self) { try letter.merge(json(#"{"author":{"id":7,"name":"Anna"}}"#)) }
    #expect(letter.author === author && letter.signature.author === author && author.name == "Ann")
  }

  @Test("Objects that share an identity are not replaced, so no local edit is lost", arguments: [true, false])
  func copies(firstIsEdited: Bool) throws {
    let base = Post(id: 1, author: Author(id: 7, name: "Ann"))
    let edited = Author(id: 7, name: "Anni"), other = Author(id: 7, name: "Ann")
    var post = Post(
      id: 1, author: firstIsEdited ? edited : other, reviewers: [firstIsEdited ? other : edited])
    let before = post
    for base in [base, nil] {
      for name in ["Ann", "Anna", "Anni"] {
        _ = try? post.merge(json(#"{"id":1,"author":{"id":7,"name":"\#(name)"}}"#), base: base)
        #expect(post.author === before.author && post.reviewers[0] === before.reviewers[0], "\(name)")
      }
    }
    #expect(edited.name == "Anni" && other.name == "Ann")
  }

  @Test(
    "Replacing throws for another class, non-field properties, unknown keys and weak references"
  )
  func kept() throws {
    var boat = Boat(captain: Captain(id: 7, name: "Ann", rank: 3))
    let server = Boat(captain: Rower(id: 7, name: "Anna"))
    #expect(throws: ArchiveError.self) { try boat.merge(.model(server)) }
    #expect((boat.captain as? Captain)?.rank == 3 && boat.captain.name == "Ann")

    let row = Row(id: 1, name: "a"), kept = Kept(id: 1, name: "a")
    row.isSelected = true
    var table = RowTable(row: row, kept: kept)
    #expect(throws: ArchiveError.self) { try table.merge(json(#"{"row":{"id":1,"name":"b"}}"#)) }
    #expect(throws: ArchiveError.self) { try table.merge(json(#"{"kept":{"id":1,"name":"b"}}"#)) }
    #expect(table.row === row && row.isSelected && table.kept === kept)

    let author = Author(id: 7, name: "Ann")
    let watcher = Observer(author), news = Author(id: 7, name: "Anna")
    #expect(throws: ArchiveError.self) { try watcher.merge(.model(Observer(news))) }
    #expect(watcher.author === author)
  }
}
