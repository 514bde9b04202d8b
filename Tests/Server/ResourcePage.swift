internal import Foundation

/// The records in the response to a query, and links to other parts of the list (RFC 8288).
struct ResourcePage: Sendable {
  let records: ArraySlice<Resource>
  /// The value of the `Link` header, or `nil` if there are no links.
  let links: String?
  /// The records as JSON text.
  let content: Data
  /// The tag of the content and the links. If a list grows, its first page may stay the same while the link to the next one
  /// changes.
  let tag: EntityTag

  init(_ records: [Resource], _ window: ResourceQuery.Window?, url: URL) {
    var links: [(relation: String, numbers: [(String, Int)])] = []
    switch window {
    case nil:
      self.records = records[...]
    case .page(let number, let size):
      let last = max(1, (records.count - 1) / size + 1)
      self.records = records.dropFirst(Self.product(number - 1, size)).prefix(size)
      func link(_ relation: String, _ page: Int) { links.append((relation, [("page", page), ("per_page", size)])) }
      if number < last { link("next", number + 1) }
      if number > 1 { link("prev", min(number - 1, last)) }
      link("first", 1)
      link("last", last)
    case .range(let offset, let limit):
      let rest = records.dropFirst(offset)
      self.records = limit.map { rest.prefix($0) } ?? rest
      // A range without a limit, or with a limit of 0, has no links.
      guard let limit, limit > 0 else { break }
      func link(_ relation: String, _ offset: Int) { links.append((relation, [("offset", offset), ("limit", limit)])) }
      if limit < rest.count { link("next", offset + limit) }
      if offset > 0 { link("prev", max(0, min(offset, records.count) - limit)) }
      link("first", 0)
      link("last", max(0, (records.count - 1) / limit * limit))
    }
    var content = Data("[".utf8)
    for (place, record) in self.records.enumerated() {
      if place > 0 { content.append(UInt8(ascii: ",")) }
      content.append(record.content)
    }
    content.append(UInt8(ascii: "]"))
    self.content = content
    let query = URLQueryText(url)
    let fields = links.map { "<\(query.url(with: $0.numbers).absoluteString)>; rel=\"\($0.relation)\"" }
    self.links = fields.isEmpty ? nil : fields.joined(separator: ", ")
    tag = EntityTag(of: content + Data((self.links ?? "").utf8))
  }

  /// The product, or the greatest integer if it overflows.
  private static func product(_ one: Int, _ other: Int) -> Int {
    let (product, isBeyond) = one.multipliedReportingOverflow(by: other)
    return isBeyond ? .max : product
  }
}
