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
