import Foundation
import Strata

@Model(version: 1)
struct Book {
  let id: Int
  var title: String
  var author: String
  var pages: String
}

let file = URL(fileURLWithPath: "books.strata")
let books = [
  Book(id: 1, title: "Middlemarch", author: "George Eliot", pages: "880"),
  Book(id: 2, title: "Persuasion", author: "Jane Austen", pages: "249"),
]
try ArchiveEncoder().encode(books, to: file)

let again = try ArchiveDecoder().decode([Book].self, from: file)
print(again.map(\.title))
// ["Middlemarch", "Persuasion"]

let stamp = try Stamp(ofFile: file)
print(stamp.typeName, stamp.modelVersion ?? 0, stamp.count)
// [Book] 1 2
