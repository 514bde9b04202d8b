import Foundation
internal import StrataCore

/// Decodes the values of a keyed archive in one traversal from the top keys.
///
/// Values that are being decoded are kept in a list of frames instead of on the call stack, so archives can be nested
/// to any depth. The reader is noncopyable, because a copy would share the reader's arrays, and the next append to an
/// array would then copy all its elements.
struct KeyedReader: ~Copyable, ~Escapable {
  let table: KeyedTable
  let limits: ArchiveLimits
  let depthLimit: Int
  var contents = KeyedContents()

  /// A collection or an object whose children are currently being decoded.
  struct Frame {
    enum Container {
      case top, array, set
      case object(KeyedLayout)
      /// An object of a Foundation class that is decoded as a plain value.
      case foundation(FoundationValue, KeyedLayout)
      case record(KeyedLayout.Plan)
    }

    let container: Container
    let identity: Int
    /// The offset in the file of the references to the children.
    let children: Int
    /// The number of children.
    let count: Int
    /// The nesting depth of the frame. It is 1 for a record, because a record is not inlined in another value.
    let depth: Int
    /// The position in ``indices`` at which the key indices of the children start, or -1 if the children have no keys.
    var indices = -1
    /// The position of `$class` among the children, or -1 if there is no class.
    var classEntry = -1
    /// The index of the next child to decode.
    var next = 0
    var values: [ArchiveValue] = []
    /// The number of values decoded so far in this frame, including the frame's own value.
    var size = 1
    /// The nesting depth of the values decoded so far in this frame.
    var height = 0
    /// The number of bytes of text and data in the values decoded so far in this frame.
    var bytes = 0

    static var empty: Frame { Frame(container: .top, identity: -1, children: 0, count: 0, depth: 0) }
  }

  struct Made {
    var value: ArchiveValue
    var size = 1
    var height = 0
    /// The number of bytes of text and data inside the value.
    var bytes = 0
  }

  /// The state of an archived object while the archive is read.
  struct Mark {
    /// The object's number in the graph, or -1 if the object has no number.
    var number: Int32 = -1
    /// The index of the object's value in ``made`` if the value was cached; otherwise one of the following negative constants.
    var made = Self.new

    static let new: Int32 = -1
    static let isMade: Int32 = -2
    /// The value was decoded once but not cached, because most objects are referenced only once. If there is a second reference, the value
    /// is decoded again.
    static let wasMade: Int32 = -3
    static let isMadeAgain: Int32 = -4
  }

  private var frames: [Frame] = []
  /// The key indices of all open frames, followed by unused elements, which the next frames overwrite. `indexCount` is
  /// the number of elements in use.
  var indices: ContiguousArray<Int32> = []
  var indexCount = 0
  var marks: [Mark]
  private var made: [Made] = []
  var classes: [Int: KeyedClass] = [:]
  var keyNumbers: KeyNumbers
  /// The key numbers of the dictionary that is being opened, followed by unused elements.
  var openedKeys: ContiguousArray<Int32> = []
  /// A cache of layouts. The index of a layout is a hash of its keys.
  var layouts = [KeyedLayout?](repeating: nil, count: 256)
  var nested: KeyedNesting?
  let digests: ValueDigests
  /// The work budget, which is shared with nested archives.
  let budget: WorkBudget
  /// The number of bytes of text and data decoded so far, including the bytes in nested archives.
  var byteCount = 0

  @_lifetime(copy table)
  init(
    _ table: KeyedTable, limits: ArchiveLimits, nested: KeyedNesting? = nil, budget: WorkBudget? = nil
  ) throws {
    self.limits = limits
    self.nested = nested
    self.budget = budget ?? WorkBudget(limits, fileSize: table.size)
    digests = ValueDigests(self.budget, remembersAll: true)
    depthLimit = min(limits.depth, 512)
    guard table.identityCount <= Int(Int32.max) else { throw KeyedTable.tooMany(Int(Int32.max)) }
    keyNumbers = KeyNumbers(count: table.list.count)
    marks = [Mark](repeating: Mark(), count: table.identityCount)
    self.table = table
  }

  /// Reads the values of the top keys. Also returns the total number of values, and the maximum nesting depth of inlined values.
  ///
  /// - Parameter depth: the number of levels of inlined values that enclose the archive, if it is nested in another
  ///   archive.
  mutating func read(inside depth: Int = 0) throws -> (values: ArchiveObject, size: Int, height: Int) {
    let rawKeys = table.top.map(\.key)
    let keys = KeyedLayout.unescaped(rawKeys)
    contents.topEncoding.note(keys, rawKeys, areInlined: table.top.map { table.isInlined($0.value) })
    var frame = Frame(container: .top, identity: -1, children: table.topValues, count: keys.count, depth: depth)
    do { try fill(&frame) } catch {
      let path = (frames + [frame]).prefix(256).compactMap { component(of: $0, keys) }
      throw path.reversed().reduce(ArchiveError.wrap(error)) { $0.prefixed(by: $1) }
    }
    let values = ArchiveObject(zip(keys, frame.values).map { ArchiveObject.Entry(key: $0, value: $1) })
    return (values, frame.size, frame.height)
  }

  /// Returns the path component of the child that is being decoded in a frame, for the path of an error.
  private func component(of frame: Frame, _ topKeys: [String]) -> ArchiveError.PathComponent? {
    guard frame.next < frame.count else { return nil }
    switch frame.container {
    case .top: return .key(topKeys[frame.next])
    case .array, .set: return .index(frame.next)
    case .foundation: return nil
    case .object(let layout): return .key(layout.keys[Int(indices[frame.indices + frame.next])])
    case .record(let plan): return .key(plan.keys[Int(indices[frame.indices + frame.next])])
    }
  }

  // MARK: Frames

  /// Decodes all children of a frame, including everything inside them.
  private mutating func fill(_ frame: inout Frame) throws {
    // Frames are large, so a new frame is written directly to this variable instead of being returned and copied.
    var child = Frame.empty
    while true {
      if try fillUntilFrame(&frame, opening: &child) {
        frames.append(frame)
        // `child` is emptied, because if two frames held the same array, the next append to it would copy the array.
        (frame, child) = (child, .empty)
      } else {
        guard !frames.isEmpty else { return }
        let made = try finish(&frame)
        frame = frames.removeLast()
        add(made, to: &frame)
      }
    }
  }

  /// Decodes the children of a frame up to the first child that needs its own frame.
  ///
  /// - Parameter opened: receives the frame of that child.
  /// - Returns: `true` if a child needs its own frame, or `false` if all children are decoded.
  @inline(__always)
  private mutating func fillUntilFrame(_ frame: inout Frame, opening opened: inout Frame) throws -> Bool {
    let size = table.list.referenceSize
    while frame.next < frame.count {
      guard frame.next != frame.classEntry else {
        frame.next &+= 1
        continue
      }
      let target: KeyedTable.Target
      do { target = try table.target(table.list.reference(at: frame.children &+ frame.next &* size)) } catch {
        try addNull(for: error, to: &frame)
        continue
      }
      if try addScalar(target, to: &frame) { continue }
      if try open(target, in: &frame, as: &opened) { return true }
    }
    return false
  }

  @inline(__always)
  func add(_ value: ArchiveValue, bytes: Int = 0, to frame: inout Frame) {
    if frame.indices < 0 {
      frame.values.append(value)
    } else {
      frame.values[Int(indices[frame.indices &+ frame.next])] = value
    }
    frame.next &+= 1
    frame.size &+= 1
    frame.bytes &+= bytes
  }

  func add(_ made: Made, to frame: inout Frame) {
    add(made.value, bytes: made.bytes, to: &frame)
    frame.size &+= made.size &- 1
    frame.height = max(frame.height, made.height)
  }

  /// Decodes an object and adds it to the frame if it is a scalar other than data. Returns `false` for any other object.
  @inline(__always)
  private mutating func addScalar(_ target: KeyedTable.Target, to frame: inout Frame) throws -> Bool {
    guard target.marker < 0xA0 else { return false }
    if target.marker >> 4 == 0x5 || target.marker >> 4 == 0x6 {
      guard !target.isNull else {
        add(.null, to: &frame)
        return true
      }
      let (text, bytes) = try text(target)
      add(text, bytes: bytes, to: &frame)
      return true
    }
    guard target.marker >> 4 != 0x4 else { return false }
    add(try number(target), to: &frame)
    return true
  }

  /// Decodes an object that is a boolean, a number, a date or null.
  @inline(__always)
  private func number(_ target: KeyedTable.Target) throws -> ArchiveValue {
    let list = table.list
    switch target.marker {
    case 0x08, 0x09: return .bool(target.marker == 0x09)
    case 0x10...0x13:
      let size = 1 &<< Int(target.marker & 0xF)
      return .int(Int64(bitPattern: list.unsigned(at: target.offset &+ 1, size: size)))
    case 0x14: return ArchiveValue(list.integer(at: target.offset))
    case 0x22:
      return .float(Float(bitPattern: UInt32(truncatingIfNeeded: list.unsigned(at: target.offset &+ 1, size: 4))))
    case 0x23: return .double(list.double(at: target.offset))
    case 0x33: return .date(Date(timeIntervalSinceReferenceDate: list.double(at: target.offset)))
    default: return .null
    }
  }

  /// Decodes a string and returns it with the size of its text in bytes.
  @inline(__always)
  private mutating func text(_ target: KeyedTable.Target) throws -> (ArchiveValue, bytes: Int) {
    let known = marks[target.identity].made
    if known >= 0 {
      let made = made[Int(known)]
      try spend(made.bytes)
      return (made.value, made.bytes)
    }
    let text = table.list.string(at: target.offset)
    let bytes = text.utf8.count
    guard bytes <= limits.stringLength else { throw tooLong(bytes) }
    try spend(bytes)
    // Strings of up to 15 bytes are not cached, because Swift stores them inline without any storage to share.
    if bytes > 15 { remember(Made(value: .string(text), bytes: bytes), at: target.identity) }
    return (.string(text), bytes)
  }

  // MARK: Objects decoded before

  /// Returns the value of an object that was decoded before, if the value was cached or is in the graph; otherwise `nil`.
  @inline(__always)
  mutating func known(_ identity: Int, inside depth: Int) throws -> Made? {
    let mark = marks[identity]
    if mark.number >= 0 { return Made(value: .reference(Int(mark.number))) }
    guard mark.made != Mark.new, mark.made != Mark.wasMade else { return nil }
    guard mark.made >= 0 else { return Made(value: .reference(number(for: identity))) }
    let made = made[Int(mark.made)]
    guard depth + made.height <= depthLimit else { throw ArchiveError.tooDeep(depthLimit) }
    // The reference has already been counted as one value, so only the values inside the referenced value are counted here.
    try budget.spend(values: made.size - 1)
    try spend(made.bytes)
    return made
  }

  /// Counts bytes of text and data against the budget. Bytes are counted for each object, because a file can have many
  /// objects that share the same bytes.
  @inline(__always)
  mutating func spend(_ count: Int) throws {
    byteCount &+= count
    try budget.spend(bytes: count)
  }

  /// Caches a value that was decoded for the second time, so that no value is decoded a third time.
  @inline(__always)
  mutating func keepIfRepeated(_ made: Made, at identity: Int, count: Int) throws {
    guard marks[identity].made == Mark.isMadeAgain else {
      marks[identity].made = Mark.wasMade
      return
    }
    // Only the `count` direct children are counted, because the values inside them have already been counted.
    try budget.spend(values: count)
    remember(made, at: identity)
  }

  mutating func remember(_ made: Made, at identity: Int) {
    marks[identity].made = Int32(truncatingIfNeeded: self.made.count)
    self.made.append(made)
  }

  /// Assigns the next object number of the graph to an object, and returns the number. In the graph, the object is null until it is
  /// decoded.
  mutating func number(for identity: Int) -> Int {
    let number = contents.objects.count
    marks[identity].number = Int32(truncatingIfNeeded: number)
    contents.objects.append(.null)
    return number
  }

  func tooLong(_ length: Int) -> ArchiveError {
    ArchiveError(
      .limitExceeded, "a string of \(length) bytes is longer than the limit of \(limits.stringLength) bytes",
      limit: .stringLength)
  }
}

/// The decoded contents of a keyed archive, including the archives nested in it.
struct KeyedContents {
  /// The objects of ``KeyedArchive/graph``, by number.
  var objects: [ArchiveValue] = []
  var classes: [String: KeyedClass] = [:]
  /// How the fields of each class are encoded, by class name, so that they can be written in the same way again.
  var encodings: [String: KeyedEncoding] = [:]
  var topEncoding = KeyedEncoding()
  /// The errors of malformed objects, by object number; `nil` if the reader throws errors instead of collecting them.
  var objectErrors: [Int: ArchiveError]?
}
