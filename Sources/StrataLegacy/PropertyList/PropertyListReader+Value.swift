import Foundation
public import StrataCore

extension PropertyListReader {
  /// Decodes a plain property list.
  ///
  /// If several references refer to an object, its value is repeated for each reference. The copies share memory. A
  /// dictionary becomes an object if all its keys are strings, and otherwise a map. If a key occurs more than once, its
  /// last value wins. A `uid` becomes an object with the integer under `CF$UID`, as in XML.
  ///
  /// - Throws: `ArchiveError` with code `damaged` if a reference names an object that does not exist or if an object
  ///   contains itself; `limitExceeded` if the depth exceeds `ArchiveLimits.depth` or 2,048 levels, or if the repeated
  ///   values exceed `ArchiveLimits.values`, `ArchiveLimits.expandedBytes` or `ArchiveLimits.maxWorkPerByte`. For these
  ///   limits, the size of the list is its number of objects and references plus its bytes of text and data.
  /// - Complexity: linear in the size of the list, regardless of how often objects are repeated.
  public func value(of list: PropertyList) throws -> ArchiveValue {
    let depth = min(limits.depth, JSONReader.maximumDepth)
    let budget = WorkBudget(limits, fileSize: list.objects.reduce(0) { $0 + 1 + $1.childCount + $1.byteCount })
    let digests = ValueDigests(budget, remembersAll: true)
    var open: [OpenContainer] = []
    var openNumbers: Set<Int> = []
    // Each container is decoded once, and its expanded size is counted for each reference to it.
    var known: [Int: Made] = [:]
    var number = list.root
    while true {
      guard list.objects.indices.contains(number) else {
        throw ArchiveError(.damaged, "a reference names an object that does not exist")
      }
      let object = list.objects[number]
      var made = known[number] ?? Made(value: .null, bytes: object.byteCount)
      try budget.spend(values: made.size)
      try budget.spend(bytes: made.bytes)
      if made.height > 0 {
        guard open.count + made.height <= depth else { throw ArchiveError.tooDeep(depth) }
      } else if object.childCount > 0 {
        guard openNumbers.insert(number).inserted else {
          throw ArchiveError(
            .damaged, "an object of the property list contains itself; only keyed archives may contain cycles")
        }
        guard open.count < depth else { throw ArchiveError.tooDeep(depth) }
        open.append(OpenContainer(number: number, object: object))
        number = object.child(0)
        continue
      } else {
        made.value = try object.value(of: [], digests)
      }
      while true {
        guard let last = open.indices.last else { return made.value }
        open[last].values.append(made.value)
        open[last].made.add(made)
        if open[last].values.count < open[last].object.childCount {
          number = open[last].object.child(open[last].values.count)
          break
        }
        let done = open.removeLast()
        openNumbers.remove(done.number)
        made = done.made
        made.value = try done.object.value(of: done.values, digests)
        known[done.number] = made
      }
    }
  }

  private struct OpenContainer {
    let number: Int
    let object: PropertyList.Object
    var values: [ArchiveValue] = []
    var made = Made(value: .null, height: 1)
  }

  /// A decoded value with its size, in which repeated values are counted each time: the number of values, the number of
  /// bytes of text and data, and the number of nested levels.
  private struct Made {
    var value: ArchiveValue
    var size = 1
    var bytes = 0
    var height = 0

    mutating func add(_ child: Made) {
      size = Self.sum(size, child.size)
      bytes = Self.sum(bytes, child.bytes)
      height = max(height, child.height + 1)
    }

    private static func sum(_ left: Int, _ right: Int) -> Int {
      let (sum, overflows) = left.addingReportingOverflow(right)
      return overflows ? .max : sum
    }
  }
}

extension PropertyList.Object {
  /// The number of references that the object contains. A dictionary has two for each entry.
  var childCount: Int {
    switch self {
    case .array(let elements), .set(let elements): elements.count
    case .dictionary(let entries): entries.count * 2
    default: 0
    }
  }

  /// The number of bytes of text or data in the object.
  var byteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .data(let data): data.count
    default: 0
    }
  }

  /// Returns the object number in the reference at an index. In a dictionary, the references to keys and values
  /// alternate.
  func child(_ index: Int) -> Int {
    switch self {
    case .array(let elements), .set(let elements): elements[index]
    case .dictionary(let entries): index.isMultiple(of: 2) ? entries[index / 2].key : entries[index / 2].value
    default: -1
    }
  }

  /// Returns the value of the object.
  ///
  /// - Parameter children: the values of the referenced objects, in the order of the references.
  fileprivate func value(of children: [ArchiveValue], _ digests: ValueDigests) throws -> ArchiveValue {
    switch self {
    case .null: return .null
    case .bool(let value): return .bool(value)
    case .integer(let value): return ArchiveValue(value)
    case .float(let value): return .float(value)
    case .double(let value): return .double(value)
    case .date(let value): return .date(value)
    case .data(let value): return .data(value)
    case .string(let value): return .string(value)
    case .uid(let value):
      return .object(ArchiveObject([ArchiveObject.Entry(key: "CF$UID", value: .integer(value))]))
    case .array: return .array(children)
    case .set: return .set(try digests.unique(children))
    case .dictionary:
      var named: [ArchiveObject.Entry] = []
      named.reserveCapacity(children.count / 2)
      for index in stride(from: 0, to: children.count, by: 2) {
        guard case .string(let key) = children[index] else {
          let pairs = stride(from: 0, to: children.count, by: 2)
          return .map(
            try digests.unique(pairs.map { ArchiveValue.MapEntry(key: children[$0], value: children[$0 + 1]) }))
        }
        named.append(ArchiveObject.Entry(key: key, value: children[index + 1]))
      }
      return .object(ArchiveObject(named))
    }
  }
}
