import Foundation
import Strata

@Model(version: 2)
struct Book {
  let id: Int
  var name: String
  var author: String
  var pages: Int
  var isRead = false
}

extension Book: Migratable {
  static let migration = MigrationPlan(
    .step(from: 1, to: 2, .rename("title", to: "name"), .convert("pages", .toInteger))
  )
}

let file = URL(fileURLWithPath: "books.strata")
var report = DecodingReport()
let books = try ArchiveDecoder().decode([Book].self, from: file, report: &report)
print(books.map(\.name), books.map(\.pages))
// ["Middlemarch", "Persuasion"] [880, 249]

print(report)
// Book 1 → 2, 2 objects; defaults for Book.isRead
