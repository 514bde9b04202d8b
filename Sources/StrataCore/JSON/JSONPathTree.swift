/// A node in a tree of JSON paths. Paths that begin with the same steps share nodes. Sibling nodes are in the order of their first paths.
///
/// Nodes are class instances, because the writer passes a node for each member that it writes, and a reference is cheap to copy.
final class JSONPathTree: Sendable {
  /// The path step from the parent node.
  let step: ValuePath.Component
  /// The key of the step as a JSON string with quotes; empty if the step is not a key.
  let quotedKey: [UInt8]
  /// The paths that end at this node, as indices in the list from which the tree was created.
  let leaves: [Int]
  let children: [JSONPathTree]

  /// The lowest index of a path that ends at this node or below it.
  var firstLeaf: Int { min(leaves.first ?? .max, children.lazy.map(\.firstLeaf).min() ?? .max) }

  private init(_ paths: [Path]) {
    step = paths.first?.steps.first ?? .anyElement
    leaves = paths.filter { $0.steps.count == 1 }.map(\.number)
    children = Self.nodes(paths.map { ($0.number, $0.steps.dropFirst()) })
    guard case .key(let key) = step else {
      quotedKey = []
      return
    }
    var text = ByteBuffer(minimumCapacity: 64)
    ByteBuffer.withUTF8(of: key) { text.append(jsonString: $0.bytes) }
    quotedKey = text.array()
  }

  /// Creates a tree for the paths and returns its top-level nodes. The nodes refer to each path by its index in `paths`.
  static func nodes(_ paths: [ValuePath]) -> [JSONPathTree] {
    nodes(paths.enumerated().map { ($0, $1.components[...]) })
  }

  private typealias Path = (number: Int, steps: ArraySlice<ValuePath.Component>)

  private static func nodes(_ paths: [Path]) -> [JSONPathTree] {
    var groups: [[Path]] = []
    var places: [ValuePath.Component: Int] = [:]
    for path in paths {
      guard let step = path.steps.first else { continue }
      if let place = places[step] {
        groups[place].append(path)
      } else {
        places[step] = groups.count
        groups.append([path])
      }
    }
    return groups.map(JSONPathTree.init)
  }

  var isKey: Bool { step.isKey }

  /// Whether this node is an object that contains fields.
  var isObject: Bool { children.first?.isKey ?? false }

  private var allLeaves: [Int] { leaves + children.flatMap(\.allLeaves) }

  /// Returns each path that conflicts with an earlier path. `number` is the index of the path, and `other` is the index of the earlier
  /// path. Two paths conflict if they are the same, if one is a prefix of the other, or if one has an index where the other has a key.
  static func conflicts(in nodes: [JSONPathTree]) -> [(number: Int, other: Int)] {
    var conflicts: [(number: Int, other: Int)] = []
    let first = nodes.min { $0.firstLeaf < $1.firstLeaf }
    for node in nodes {
      if let first, node.isKey != first.isKey {
        conflicts += node.allLeaves.map { ($0, first.firstLeaf) }
        continue
      }
      let all = node.allLeaves.sorted()
      if node.leaves.isEmpty || all.count == 1 {
        conflicts += Self.conflicts(in: node.children)
      } else if node.leaves.contains(all[0]) {
        conflicts += all.dropFirst().map { ($0, all[0]) }
      } else {
        conflicts += node.leaves.map { ($0, all[0]) } + Self.conflicts(in: node.children)
      }
    }
    return conflicts
  }

  /// Returns each array in which the paths skip an index. `path` is the path of the array, and `number` is the index of one of the paths
  /// that continue into the array.
  static func gaps(in nodes: [JSONPathTree], _ path: [ValuePath.Component] = []) -> [(number: Int, path: ValuePath)] {
    let indices = nodes.compactMap { if case .index(let index) = $0.step { index } else { nil } }
    let gap = indices.max().flatMap { last in last >= indices.count ? nodes.map(\.firstLeaf).min() : nil }
    return (gap.map { [($0, ValuePath(path))] } ?? []) + nodes.flatMap { gaps(in: $0.children, path + [$0.step]) }
  }
}
