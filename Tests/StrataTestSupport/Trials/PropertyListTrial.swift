package import Foundation
import StrataCore
import StrataLegacy

/// Checks any property list: if it is valid, it must survive a round trip.
package enum PropertyListTrial {
  package static func run(_ data: Data) throws {
    let reader = PropertyListReader()
    let isList = data.starts(with: Data("bplist".utf8)) || data.contains(UInt8(ascii: "<"))
    let list = try isList ? Trial.attempt { try reader.read(data) } : TableForm.propertyList(of: data)
    guard let list else { return }
    let written = try succeed("a list is written") { try PropertyListWriter().write(list) }
    let again = try succeed("what was written is read") { try reader.read(written) }
    // This does not compare the tables themselves, because NaN isn't equal to itself.
    try require(again.objects.count == list.objects.count && again.root == list.root, "a table comes back")
    try require(try PropertyListWriter().write(again) == written, "a list comes back")
    guard let value = try Trial.attempt({ try reader.value(of: list) }) else { return }
    let same = try succeed("the value of what was written") { try reader.readValue(written) }
    // Encoding may fail: two keys may be sets with the same elements in a different order, which an archive does not keep.
    guard let body = try Trial.attempt({ try ArchiveEncoder().encodeBody(value) }) else { return }
    let read = try succeed("what was archived is read") {
      try ArchiveDecoder().decodeBody(ArchiveValue.self, from: body)
    }
    try require(try ArchiveEncoder().encodeBody(read) == body, "a value comes back from an archive")
    try require(try ArchiveEncoder().encodeBody(same) == body, "a value comes back")
  }
}
