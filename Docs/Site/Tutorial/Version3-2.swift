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
