import Foundation
internal import StrataCore

// Opens frames for collections and objects, which can be decoded only after their children.

extension KeyedReader {
  /// Adds a collection or an object to a frame if its value is already known; otherwise opens a new frame for it.
  ///
  /// - Parameter opened: receives the new frame, if one is opened.
  /// - Returns: whether a new frame was opened.
  mutating func open(
    _ target: KeyedTable.Target, in frame: inout Frame, as opened: inout Frame
  ) throws -> Bool {
    if let known = try known(target.identity, inside: frame.depth) {
      add(known, to: &frame)
      return false
    }
    switch target.marker >> 4 {
    case 0x4:
      let made = try data(target, inside: frame.depth)
      add(made, to: &frame)
      return false
    case 0xD: return try openDictionary(target, in: &frame, as: &opened)
    default:
      let (start, count) = table.list.content(at: target.offset)
      opened = Frame(
        container: target.marker >> 4 == 0xC ? .set : .array, identity: target.identity, children: start, count: count,
        depth: frame.depth + 1)
      try begin(opened)
      opened.values.reserveCapacity(count)
      return true
    }
  }

  private mutating func begin(_ opened: borrowing Frame) throws {
    guard opened.count <= limits.count else { throw KeyedTable.tooMany(limits.count) }
    guard opened.depth <= depthLimit else { throw ArchiveError.tooDeep(depthLimit) }
    try spend(opened.bytes)
    switch marks[opened.identity].made {
    case Mark.new: marks[opened.identity].made = Mark.isMade
    case Mark.wasMade: marks[opened.identity].made = Mark.isMadeAgain
    default: break
    }
  }

  private mutating func openDictionary(
    _ target: KeyedTable.Target, in frame: inout Frame, as opened: inout Frame
  ) throws -> Bool {
    let (start, count) = table.list.content(at: target.offset)
    guard count <= limits.count else { throw KeyedTable.tooMany(limits.count) }
    let firstIndex = indexCount
    let layout: KeyedLayout
    var classEntry: Int
    do { (layout, classEntry) = try self.layout(start, count) } catch {
      try note(error, of: target.identity)
      // The dictionary has invalid keys, so it is read as an array of its keys followed by its values.
      opened = Frame(
        container: .array, identity: target.identity, children: start, count: 2 * count, depth: frame.depth + 1)
      try begin(opened)
      return true
    }
    let values = start &+ count &* table.list.referenceSize
    @inline(__always)
    func open(_ container: Frame.Container, depth: Int) throws -> Bool {
      opened = Frame(
        container: container, identity: target.identity, children: values, count: count, depth: depth,
        indices: firstIndex,
        classEntry: classEntry, values: Self.nulls(layout.keys.count),
        bytes: layout.keyBytes)
      try begin(opened)
      return true
    }
    guard classEntry >= 0 else {
      if let key = layout.reservedKey {
        let error = ArchiveError(
          .damaged,
          "an object without “$class” has the reserved key \(key); a “$” at the start of an ordinary key must be "
            + "written as “$$”",
          path: [.key(key)])
        try note(error, of: target.identity)
      }
      return try open(.object(layout), depth: frame.depth + 1)
    }
    let plan: KeyedLayout.Plan
    do {
      let type = try table.target(table.list.reference(at: values &+ classEntry &* table.list.referenceSize))
      plan = try layout.plan(ofClass: type.identity) { try readClass(type) }
    } catch {
      try note(error, of: target.identity)
      return try open(.object(layout), depth: frame.depth + 1)
    }
    guard let foundation = plan.foundation else {
      try spend(plan.nameBytes)
      _ = number(for: target.identity)
      // Records are objects of the graph and are not inlined in other values, so the nesting depth inside a record
      // starts at 1.
      return try open(.record(plan), depth: 1)
    }
    if foundation == .date, count == 2, frame.depth < depthLimit {
      // Fast path: archives often contain many dates, and a date in the usual encoding can be decoded without a frame.
      let time = try table.target(table.list.reference(at: values &+ (1 &- classEntry) &* table.list.referenceSize))
      if time.marker == 0x23 {
        try spend(layout.keyBytes)
        indexCount = firstIndex
        let date = Date(timeIntervalSinceReferenceDate: table.list.double(at: time.offset))
        let made = Made(value: .date(date), height: 1, bytes: layout.keyBytes)
        // The decoded date is not cached, because decoding it again takes no longer than looking it up.
        add(made, to: &frame)
        return false
      }
    }
    // A collection holds its elements in a separate array of the property list. Only that array counts as a level of
    // nesting, not the collection itself.
    let depth = foundation.isCollection ? frame.depth : frame.depth + 1
    return try open(.foundation(foundation, layout), depth: depth)
  }

  @inline(__always)
  private static func nulls(_ count: Int) -> [ArchiveValue] {
    [ArchiveValue](capacity: count) { values in
      for _ in 0..<count { values.append(.null) }
    }
  }

  /// Returns the layout of a dictionary, and the position of `$class` among its keys. Appends the layout index of each
  /// key to ``indices``. These indices are removed when the dictionary's frame is finished.
  private mutating func layout(_ start: Int, _ count: Int) throws -> (KeyedLayout, classEntry: Int) {
    let first = indexCount
    if indices.count < first + count { indices += repeatElement(0, count: indices.count + count) }
    if openedKeys.count < count { openedKeys += repeatElement(0, count: count) }
    keyNumbers.read(table.list, at: start, count: count, into: &openedKeys)
    let keys = openedKeys[..<count]
    let slot = Self.slot(of: keys)
    if let known = layouts[slot], let classEntry = known.find(openedKeys, count: count, in: &indices, from: first) {
      indexCount = first + count
      return (known, classEntry)
    }
    let layout = try KeyedLayout(ContiguousArray(keys), keys: keyNumbers.keys)
    layouts[slot] = layout
    indexCount = first + count
    return (layout, layout.find(openedKeys, count: count, in: &indices, from: first) ?? -1)
  }

  /// Returns the index in ``layouts`` at which a layout with the given key numbers is cached. The order of the keys
  /// does not matter.
  private static func slot(of numbers: ArraySlice<Int32>) -> Int {
    var hash = UInt64(numbers.count)
    for number in numbers {
      // The hashes of the numbers are added, because a sum does not depend on the order of the keys.
      let mixed = UInt64(truncatingIfNeeded: number &+ 2) &* 0x9E37_79B9_7F4A_7C15
      hash &+= mixed ^ mixed &>> 29
    }
    return Int((hash ^ hash &>> 23) & 0xFF)
  }

  private mutating func readClass(_ target: KeyedTable.Target) throws -> KeyedClass {
    if let known = classes[target.identity] { return known }
    let found: KeyedClass
    do { found = try table.readClass(target) } catch { throw ArchiveError.at(.key("$class"), error) }
    classes[target.identity] = found
    if contents.classes[found.name] == nil { contents.classes[found.name] = found }
    return found
  }
}
