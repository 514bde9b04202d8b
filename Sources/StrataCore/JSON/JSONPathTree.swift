/// JSON paths as a tree. Nodes are in the order of their first paths.
///
/// A class, so that a copy is one reference: writing passes a node for each member.
final class JSONPathTree: Sendable {
  /// The step from the parent node to this one.
  let step: JSONPath.Step
  /// The key in JSON text, with its quotes; empty for an index.
  let quotedKey: [UInt8]
  /// The numbers of the paths that end here.
  let leaves: [Int]
  let children: [JSONPathTree]

  /// The lowest number of the paths that end here or below.
  var firstLeaf: Int { min(leaves.first ?? .max, children.lazy.map(\.firstLeaf).min() ?? .max) }

  private init(_ paths: [Path]) {
    step = paths.first?.steps.first ?? .each
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

  typealias Path = (number: Int, steps: ArraySlice<JSONPath.Step>)

  /// Returns the nodes for the first steps of numbered paths.
  static func nodes(_ paths: [Path]) -> [JSONPathTree] {
    var groups: [[Path]] = []
    var places: [Group: Int] = [:]
    for path in paths {
      guard let step = path.steps.first else { continue }
      if let place = places[Group(step)] {
        groups[place].append(path)
      } else {
        places[Group(step)] = groups.count
        groups.append([path])
      }
    }
    return groups.map(JSONPathTree.init)
  }

  /// A step as a key of a dictionary. Keys of objects are compared by their bytes.
  private enum Group: Hashable {
    case key(ExactKey)
    case index(Int)
    case each

    init(_ step: JSONPath.Step) {
      self =
        switch step {
        case .key(let key): .key(ExactKey(key))
        case .index(let index): .index(index)
        case .each: .each
        }
    }
  }

  var isKey: Bool { step.isKey }

  /// Whether this node is an object that contains fields.
  var isObject: Bool { children.first?.isKey ?? false }

  private var allLeaves: [Int] { leaves + children.flatMap(\.allLeaves) }

  /// The paths that conflict with another one: at the same path, below it, or to an index where the other path has a
  /// key. Each comes with the other path, which has the lower number.
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

  /// The arrays in which some indices have no path, with the number of a path into each array.
  static func gaps(in nodes: [JSONPathTree], _ path: [JSONPath.Step] = []) -> [(number: Int, path: JSONPath)] {
    let indices = nodes.compactMap { if case .index(let index) = $0.step { index } else { nil } }
    let gap = indices.max().flatMap { last in last >= indices.count ? nodes.map(\.firstLeaf).min() : nil }
    return (gap.map { [($0, JSONPath(path))] } ?? []) + nodes.flatMap { gaps(in: $0.children, path + [$0.step]) }
  }
}

extension JSONPath.Step {
  var isKey: Bool { if case .key = self { true } else { false } }
}
