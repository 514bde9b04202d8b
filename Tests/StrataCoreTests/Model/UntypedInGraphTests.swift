import StrataCore
import Testing

private final class Node: DescribedModel {
  var next: Node?
  var free: ArchiveValue
  init(next: Node?, free: ArchiveValue) { (self.next, self.free) = (next, free) }
  static let fields = Fields(
    Node.self, version: 1, Field("next", \.next), Field("free", \.free), make: { Node(next: $0, free: $1) })
}

@Suite("Untyped values in archives with objects")
struct UntypedInGraphTests {
  @Test(
    "An untyped value in an archive with objects round-trips unchanged",
    arguments: [
      .set([1, 2]), .array([.set([1]), .set([])]), ["a": .set(["x"])], .map([.init(key: .set([1]), value: .set([2]))]),
    ] as [ArchiveValue])
  func sets(_ free: ArchiveValue) throws {
    let shared = Node(next: nil, free: free)
    let node = try ArchiveDecoder().decode(
      [Node].self, from: ArchiveEncoder().encode([Node(next: shared, free: free), shared]))
    #expect(node[0].free == free && node[1].free == free && node[0].next === node[1])
    let tree = try ArchiveDecoder().decode(
      ArchiveValue.self, from: ArchiveEncoder().encode(Node(next: shared, free: free)))
    #expect(tree["free"] == free && tree["next"]?["free"] == free)
  }
}
