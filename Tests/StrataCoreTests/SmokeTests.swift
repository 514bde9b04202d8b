import Foundation
import StrataCore
import Testing

struct Point: Equatable { var x: Int; var y: Double; var name: String; var tags: [String]; var when: Date; var url: URL? }
extension Point: DescribedModel {
  static let fields = Fields(
    Point.self, version: 1,
    Field("x", \.x), Field("y", \.y, default: 0), Field("name", \.name), Field("tags", \.tags, default: []),
    Field("when", \.when), Field("url", \.url),
    make: { Point(x: $0, y: $1, name: $2, tags: $3, when: $4, url: $5) })
}

@Suite struct SmokeTests {
  @Test func roundTrip() throws {
    let p = Point(x: 1, y: 2.5, name: "hello", tags: ["hello", "world", "hello"], when: Date(), url: URL(string: "https://a.b/c"))
    let data = try ArchiveEncoder().encode([p, p])
    #expect(try ArchiveDecoder().decode([Point].self, from: data) == [p, p])
    let s = try Stamp(of: data)
    #expect(s.count == 2)
    var q = p
    let r = try q.mergeValues(fromJSON: Data(#"{"x": 7, "url": null}"#.utf8))
    #expect(r.changedKeys == ["x", "url"])
    #expect(q.x == 7 && q.url == nil && q.name == "hello")
  }
}
