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
