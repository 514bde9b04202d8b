import Foundation
import Strata

@Model(version: 3)
struct Book {
  let id: Int
  var name: String
  var writer: Author
  var pages: Int
  var isRead = false
}

@Model(version: 1)
struct Author {
  var name: String
  var born: Date?
}

extension Book: Migratable {
  static let migration = MigrationPlan(
    .step(from: 1, to: 2, .rename("title", to: "name"), .convert("pages", .toInteger)),
    .step(from: 2, to: 3, .move("author", to: "writer.name", creating: .init("Author", version: 1)))
  )
}

let file = URL(fileURLWithPath: "books.strata")
var report = DecodingReport()
let books = try ArchiveDecoder().decode([Book].self, from: file, report: &report)
print(books.map(\.writer.name), books.map(\.pages))
// ["George Eliot", "Jane Austen"] [880, 249]

print(report)
// Book 1 → 3, 2 objects; defaults for Book.isRead
