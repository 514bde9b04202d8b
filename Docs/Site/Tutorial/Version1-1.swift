import Foundation
import Strata

@Model(version: 1)
struct Book {
  let id: Int
  var title: String
  var author: String
  var pages: String
}
