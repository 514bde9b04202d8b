import StrataTestSupport
import Testing

@testable import StrataCore

@Suite("The order of lists that both sides changed")
struct ListOrderTests {
  /// All permutations of all subsets of four elements.
  private static let lists: [[Int]] = {
    var all: [[Int]] = [[]]
    var longest: [[Int]] = [[]]
    for _ in 0..<4 {
      longest = longest.flatMap { list in (0..<4).filter { !list.contains($0) }.map { list + [$0] } }
      all += longest
    }
    return all
  }()

  @Test(
    "With a base, each surviving element occurs once, and an order changed by one side is kept", .tags(.long),
    arguments: 0...4)
  func withBase(count: Int) {
    #expect(Self.lists.count == 65)
    let base = Array(0..<count)
    for local in Self.lists {
      for server in Effort.sample(16, of: Self.lists) {
        let order = ListOrder(base: base, local: local, server: server)
        let all = Set(local).union(server)
        let alive = all.filter { !base.contains($0) || (local.contains($0) && server.contains($0)) }
        for surviving in [alive, all] {
          let merged = order.merged(surviving)
          #expect(merged.count == surviving.count && Set(merged) == surviving, "\(base) \(local) \(server)")
        }
        let merged = order.merged(alive)
        if local == base { #expect(merged == server) }
        if server == base { #expect(merged == local) }
        if local == server { #expect(merged == server) }
      }
    }
  }

  @Test("Without a base, each surviving element occurs once, in the server's order")
  func withoutBase() {
    for local in Self.lists {
      for server in Self.lists {
        let surviving = Set(local).union(server)
        let merged = ListOrder(base: [], local: local, server: server).following(surviving)
        #expect(merged.count == surviving.count && Set(merged) == surviving)
        #expect(merged.filter(server.contains) == server)
        let own = local.filter { !server.contains($0) }
        #expect(Set(merged.filter(own.contains)) == Set(own))
        #expect(ListOrder(base: [], local: local, server: server).following(Set(server)) == server)
      }
    }
  }
}
