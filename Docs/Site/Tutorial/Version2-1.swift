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
