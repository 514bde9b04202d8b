internal import Foundation
internal import StrataCore

/// A query on a list: the filters, and the range of items requested.
struct ResourceQuery: Sendable {
  /// The requested part of a list.
  enum Window: Sendable, Hashable {
    /// A page, counted from 1.
    case page(Int, size: Int)
    /// A range. `nil` means no limit.
    case range(offset: Int, limit: Int?)
  }

  /// For each path, the accepted texts. A record matches if, at every path, it has one of them.
  private(set) var filters: [(path: String, texts: [String])] = []
  private(set) var window: Window?

  private static let windowNames = ["page", "per_page", "offset", "limit"]
  private static let defaultSize = 20

  /// - Parameter pageSize: the default page size, or `nil` for the whole list.
  /// - Throws: ``Problem`` if a number is invalid, or if pages and offsets are mixed.
  init(_ url: URL, pageSize: Int?) throws {
    var numbers: [String: String] = [:]
    for item in URLQueryText(url).items {
      if Self.windowNames.contains(item.name) {
        numbers[item.name] = item.value
      } else if let place = filters.firstIndex(where: { ExactKey.isSame($0.path, item.name) }) {
        filters[place].texts.append(item.value)
      } else {
        filters.append((item.name, [item.value]))
      }
    }
    func number(_ name: String, from least: Int) throws -> Int? {
      guard let text = numbers[name] else { return nil }
      guard let number = Int(text), number >= least else {
        throw Problem(400, "\(name) in the query is no number that it can have; a whole one from \(least) on is needed")
      }
      return number
    }
    let (page, size) = try (number("page", from: 1), number("per_page", from: 1))
    let (offset, limit) = try (number("offset", from: 0), number("limit", from: 0))
    let isPaged = page != nil || size != nil
    if offset != nil || limit != nil {
      guard !isPaged else {
        throw Problem(
          400, "the query has both pages and an offset; either page and per_page, or offset and limit, are needed")
      }
      window = .range(offset: offset ?? 0, limit: limit ?? pageSize)
    } else if isPaged || pageSize != nil {
      window = .page(page ?? 1, size: size ?? pageSize ?? Self.defaultSize)
    }
  }

  /// Whether a record matches the filters.
  func matches(_ json: ArchiveValue) -> Bool {
    filters.allSatisfy { filter in
      guard let value = Self.value(at: filter.path, in: json) else { return false }
      return filter.texts.contains { Self.matches(value, $0) }
    }
  }

  /// Returns the value at a key, or at a path of keys separated by dots.
  private static func value(at path: String, in json: ArchiveValue) -> ArchiveValue? {
    if let value = json[path] { return value }
    var value = json
    for key in path.split(separator: ".", omittingEmptySubsequences: false) {
      guard let inside = value[String(key)] else { return nil }
      value = inside
    }
    return value
  }

  /// Whether a value, or an element of an array, has the given text. The text of null is `null`.
  private static func matches(_ value: ArchiveValue, _ text: String) -> Bool {
    if case .array(let elements) = value { return elements.contains { matches($0, text) } }
    return (value.isNull ? "null" : value.scalarText).map { ExactKey.isSame($0, text) } ?? false
  }
}
