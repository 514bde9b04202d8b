/// A document while a patch is applied.
///
/// An array or an object becomes a node when a path first enters it, and is converted back to a value at the end. An operation therefore
/// looks up keys and changes values in place, regardless of the size of the document. All nodes are in one array and refer to their
/// children by index. No operation on nodes is recursive.
struct PatchTree {
  /// The content of one location in the document: a value, or a node for an array or an object that a path has entered.
  enum Slot {
    /// A value of the original document or of an operation. No path has entered the value yet, so it has no node.
    case value(ArchiveValue)
    /// The index in `nodes` of the array or object at this location.
    case node(Int)
  }

  /// An array or an object that a path has entered.
  private struct Node {
    var elements = PatchElements()
    /// The members of an object; `nil` for an array.
    var members: PatchMembers?

    /// Returns the index of the element or member that a path token refers to; `nil` if this node has no such element or member.
    func place(of token: String) -> Int? {
      if let members { return members.place(of: token) }
      return PatchTree.place(token).flatMap { $0 < elements.count ? $0 : nil }
    }

    /// Sets the value of a key of an object, or inserts an element into an array. Returns `false` if this node is an array and the token is
    /// not an index from 0 to the length of the array. In an array, `-` is the index after the last element (RFC 6901, section 4).
    mutating func put(_ slot: Slot, at token: String) -> Bool {
      if members != nil {
        members?.put(slot, under: token)
        return true
      }
      guard let place = token == "-" ? elements.count : PatchTree.place(token), place <= elements.count else {
        return false
      }
      elements.insert(slot, at: place)
      return true
    }

    mutating func remove(at place: Int) {
      if members == nil { elements.remove(at: place) } else { members?.remove(at: place) }
    }

    subscript(place: Int) -> Slot? {
      get { members == nil ? elements[place] : members?[place] }
      set {
        if members == nil { newValue.map { elements[place] = $0 } } else { members?[place] = newValue }
      }
    }

    /// Calls `body` with the index of each child node.
    func forEachNode(_ body: (Int) throws -> Void) rethrows {
      try elements.forEach { if case .node(let number) = $0 { try body(number) } }
      try members?.forEach { if case .node(let number) = $1 { try body(number) } }
    }
  }

  private var root: Slot
  private var nodes: [Node] = []
  private let depthLimit: Int
  private let operations: [JSONPatch.Operation]
  private let documentSize: Int
  /// The number of values that the operations have added so far, compared with `sizeLimit`.
  private var madeSize = 0
  /// The maximum number of values that the operations may add. Computed only when many values have been added.
  private var sizeLimit: Int?
  /// Whether an operation has moved a value. A move does not check the depth of the value at its new location, so `result()` checks the
  /// whole document.
  private var hasMoved = false

  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if the original document is nested more deeply than `depthLimit`.
  init(_ document: ArchiveValue, _ operations: [JSONPatch.Operation], depthLimit: Int) throws {
    documentSize = try document.size(limit: depthLimit)
    root = .value(document)
    self.operations = operations
    self.depthLimit = depthLimit
  }

  /// Returns the document as changed by the operations applied so far.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if the changed document is nested more deeply than `depthLimit`.
  func result() throws -> ArchiveValue {
    let result = try value(of: root)
    if hasMoved { _ = try result.size(limit: depthLimit) }
    return result
  }

  /// Parses a path token as an array index (RFC 6901, section 4): digits without a leading zero. Returns `nil` for any other token.
  private static func place(_ token: String) -> Int? {
    guard !token.isEmpty, token.utf8.allSatisfy({ 48...57 ~= $0 }), token == "0" || !token.hasPrefix("0") else {
      return nil
    }
    return Int(token)
  }

  // MARK: Operations

  // The paths in the following functions are lists of tokens. A token is a key of an object, or an array index written in digits.

  mutating func add(_ value: ArchiveValue, at path: [String]) throws {
    try count(value, at: path)
    try put(.value(value), at: path)
  }

  mutating func remove(_ path: [String]) throws { _ = try detach(path) }

  mutating func replace(_ value: ArchiveValue, at path: [String]) throws {
    try count(value, at: path)
    guard let last = path.last else {
      root = .value(value)
      return
    }
    let holder = try open(path)
    nodes[holder][try place(last, in: holder)] = .value(value)
  }

  mutating func move(_ from: [String], to: [String]) throws {
    if to.starts(with: from, by: ExactKey.isSame) {
      guard from.count == to.count else { throw ArchiveError(.mergeFailed, "a patch cannot move a value into itself") }
      _ = try slot(from)
      return
    }
    let slot = try detach(from)
    try put(slot, at: to)
    hasMoved = true
  }

  mutating func copy(_ from: [String], to: [String]) throws {
    let value = try value(of: slot(from))
    try add(value, at: to)
  }

  /// Whether the value at a location equals `value` as defined by RFC 6902, section 4.6: numbers are compared by value, and strings by code
  /// points.
  mutating func isEqual(_ path: [String], to value: ArchiveValue) throws -> Bool {
    var waiting = [(try slot(path), value)]
    while let (slot, value) = waiting.popLast() {
      switch slot {
      case .value(let own): guard own.isEqualJSON(value) else { return false }
      case .node(let number): guard pair(nodes[number], value, &waiting) else { return false }
      }
    }
    return true
  }

  /// Queues the children of a node and of `value` for comparison, in pairs with the same location.
  ///
  /// - Returns: whether the node and `value` have children at the same locations.
  private func pair(_ node: Node, _ value: ArchiveValue, _ waiting: inout [(Slot, ArchiveValue)]) -> Bool {
    let entries: [ArchiveObject.Entry]
    switch (value, node.members) {
    case (.array(let elements), nil):
      guard elements.count == node.elements.count else { return false }
      var rest = elements[...]
      node.elements.forEach { slot in if let element = rest.popFirst() { waiting.append((slot, element)) } }
      return true
    case (.object(let object), let members?) where members.record == nil: entries = object.entries
    case (.record(let record), let members?) where members.record?.hasSameType(as: record) ?? false:
      entries = record.object.entries
    default: return false
    }
    guard let members = node.members, members.count == entries.count else { return false }
    for entry in entries {
      guard let place = members.place(of: entry.key), let slot = members[place] else { return false }
      waiting.append((slot, entry.value))
    }
    return true
  }

  // MARK: Limits

  /// Counts the values inside a value that an operation adds. Throws if the added value is nested too deeply or if the operations have
  /// added too many values.
  private mutating func count(_ value: ArchiveValue, at path: [String]) throws {
    madeSize += try value.size(atDepth: path.count, limit: depthLimit)
    // Computing the exact limit takes time, and few patches add more than 2^20 values. The limit is therefore computed only in this case.
    guard madeSize > 1 << 20 else { return }
    let limit = sizeLimit ?? max(1 << 20, 16 * (documentSize + operations.reduce(0) { $0 + $1.size }))
    sizeLimit = limit
    guard madeSize <= limit else {
      throw ArchiveError(
        .limitExceeded, "the patch inserts more than the limit of \(limit) values",
        limit: .count)
    }
  }

  // MARK: Paths

  private static var pathNotFound: ArchiveError {
    ArchiveError(.mergeFailed, "the document has no value at the path of the patch operation")
  }

  /// Returns the value or the node at a path.
  private mutating func slot(_ path: [String]) throws -> Slot {
    guard let last = path.last else { return root }
    let holder = try open(path)
    return try slot(at: place(last, in: holder), of: holder)
  }

  /// Returns the index of the node in which the last token of a path is looked up. All arrays and objects along the path become nodes.
  private mutating func open(_ path: [String]) throws -> Int {
    var holder = try opened(root)
    root = .node(holder)
    for token in path.dropLast() {
      let place = try place(token, in: holder)
      let slot = try slot(at: place, of: holder)
      if case .node(let number) = slot {
        holder = number
        continue
      }
      let number = try opened(slot)
      nodes[holder][place] = .node(number)
      holder = number
    }
    return holder
  }

  private mutating func opened(_ slot: Slot) throws -> Int {
    switch slot {
    case .node(let number): return number
    case .value(.array(let elements)): nodes.append(Node(elements: PatchElements(elements)))
    case .value(.object(let object)): nodes.append(Node(members: PatchMembers(object.entries)))
    case .value(.record(let record)): nodes.append(Node(members: PatchMembers(record.object.entries, of: record)))
    case .value: throw Self.pathNotFound
    }
    return nodes.count - 1
  }

  /// Returns the index of the element or member of a node that a path token refers to. Throws if there is none.
  private func place(_ token: String, in holder: Int) throws -> Int {
    guard let place = nodes[holder].place(of: token) else { throw Self.pathNotFound }
    return place
  }

  private func slot(at place: Int, of holder: Int) throws -> Slot {
    guard let slot = nodes[holder][place] else { throw Self.pathNotFound }
    return slot
  }

  private mutating func put(_ slot: Slot, at path: [String]) throws {
    guard let last = path.last else {
      root = slot
      return
    }
    let holder = try open(path)
    guard nodes[holder].put(slot, at: last) else { throw Self.pathNotFound }
  }

  private mutating func detach(_ path: [String]) throws -> Slot {
    guard let last = path.last else {
      throw ArchiveError(.mergeFailed, "a patch cannot remove the whole document")
    }
    let holder = try open(path)
    let place = try place(last, in: holder)
    let slot = try slot(at: place, of: holder)
    nodes[holder].remove(at: place)
    return slot
  }

  // MARK: Values

  /// Converts the content of a location, including all nodes in it, to a value.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if the nodes are nested more deeply than `depthLimit`.
  private func value(of slot: Slot) throws -> ArchiveValue {
    guard case .node(let top) = slot else { return value(slot, [:]) }
    // Lists all nodes, each one after its parent. The loop below goes through the list backwards, so that the children of a node are
    // converted before the node.
    var order = [(number: top, depth: 1)]
    var next = 0
    while next < order.count {
      let (number, depth) = order[next]
      guard depth <= depthLimit else { throw ArchiveError.tooDeep(depthLimit) }
      nodes[number].forEachNode { order.append(($0, depth + 1)) }
      next += 1
    }
    var made: [Int: ArchiveValue] = [:]
    for (number, _) in order.reversed() {
      guard let members = nodes[number].members else {
        var elements: [ArchiveValue] = []
        elements.reserveCapacity(nodes[number].elements.count)
        nodes[number].elements.forEach { elements.append(value($0, made)) }
        made[number] = .array(elements)
        continue
      }
      var entries: [ArchiveObject.Entry] = []
      entries.reserveCapacity(members.count)
      members.forEach { entries.append(.init(key: $0, value: value($1, made))) }
      made[number] = members.record.map { .record($0.with(entries)) } ?? .object(ArchiveObject(uniqueEntries: entries))
    }
    return value(slot, made)
  }

  private func value(_ slot: Slot, _ made: [Int: ArchiveValue]) -> ArchiveValue {
    switch slot {
    case .value(let value): value
    // The caller converts child nodes first, so `made` contains the value of each child node.
    case .node(let number): made[number] ?? .null
    }
  }
}

extension JSONPatch.Operation {
  /// The number of values in the operation, plus one for the operation itself. The limit on the values that a patch may add is based on the
  /// sum for all operations.
  fileprivate var size: Int {
    switch self {
    case .add(_, let value), .replace(_, let value), .test(_, let value): 1 + value.size
    case .remove, .move, .copy: 1
    }
  }
}

extension ArchiveValue {
  /// Whether two values are equal as defined by RFC 6902, section 4.6: numbers are compared by value, and strings by code points.
  fileprivate func isEqualJSON(_ other: ArchiveValue) -> Bool {
    Self.areEqual(self, other) { left, right in
      if case .string(let left) = left, case .string(let right) = right { return ExactKey.isSame(left, right) }
      return left == right || ValueOrder.compare(left, right) == 0
    }
  }
}
