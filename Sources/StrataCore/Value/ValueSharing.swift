import Foundation

/// Measures the encoded size of a value, and its size with shared storage counted only once. The encoded size can be far larger, because
/// the same storage can occur several times in a value: for example, if a patch copied a subtree, or if an archive contained several
/// references to a long text.
struct ValueSharing {
  /// The approximate encoded size in bytes: 8 bytes for each value, plus the sizes of text and data. `Int.max` if the
  /// size overflows.
  private(set) var written = 0
  /// The approximate encoded size in bytes, with shared storage counted only once.
  private(set) var distinct = 0

  /// The minimum size, in bytes, of texts that are counted only once. Shorter texts are counted at each occurrence,
  /// because a lookup would take longer.
  private static let longText = 64
  /// The depth beyond which the contents of collections are not counted, because writers reject values of this depth.
  private static let deepest = 2048

  private var depth = 0
  /// The objects of the graph being measured.
  private var objects: [ArchiveValue] = []
  /// The sizes of objects that have already been measured, by object number.
  private var objectSizes: [Int: Int] = [:]
  /// The sizes of collections that have already been measured.
  private var sizes: [StorageIdentity: Int] = [:]
  private var texts = Set<StorageIdentity>()

  /// Measures the size of a value.
  ///
  /// - Complexity: linear in the size of the value, with parts that share storage counted once.
  init(of value: ArchiveValue) { written = size(of: value) }

  private mutating func size(of value: ArchiveValue) -> Int {
    switch value {
    case .string(let text): leaf(text.utf8.count, text.utf8.withContiguousStorageIfAvailable { StorageIdentity($0) })
    case .number(let number): leaf(number.text.utf8.count, nil)
    case .data(let data): leaf(data.count, data.withUnsafeBytes { StorageIdentity($0) })
    case .url(let url): leaf(url.absoluteString.utf8.count, nil)
    case .array(let elements), .set(let elements): size(elements) { $1.size(of: $0) }
    case .map(let entries): size(entries) { Self.sum($1.size(of: $0.key), $1.size(of: $0.value)) }
    case .object(let object):
      size(object.entries) { Self.sum($1.leaf($0.key.utf8.count, nil), $1.size(of: $0.value)) }
    case .record(let record):
      Self.sum(size(record.values) { $1.size(of: $0) }, leaf(record.shape.keyBytes, nil))
    case .reference(let number): size(ofObject: number)
    case .graph(let graph): size(of: graph)
    default: leaf(0, nil)
    }
  }

  /// Returns the size of a graph with each reference replaced with the referenced object.
  private mutating func size(of graph: ObjectGraph) -> Int {
    objects = graph.objects
    return size(of: graph.root)
  }

  private mutating func size(ofObject number: Int) -> Int {
    guard objects.indices.contains(number), depth < Self.deepest else { return leaf(0, nil) }
    if let known = objectSizes[number] { return known }
    // A placeholder size in case the object contains itself. Writers reject an object that contains itself.
    objectSizes[number] = 8
    let size = size(of: objects[number])
    objectSizes[number] = size
    return size
  }

  private mutating func leaf(_ bytes: Int, _ storage: StorageIdentity?) -> Int {
    let size = Self.sum(8, bytes)
    if bytes >= Self.longText, let storage, !texts.insert(storage).inserted {
      distinct = Self.sum(distinct, 8)
    } else {
      distinct = Self.sum(distinct, size)
    }
    return size
  }

  private mutating func size<T>(_ elements: [T], _ size: (T, inout ValueSharing) -> Int) -> Int {
    let place = StorageIdentity(elements)
    if !elements.isEmpty, let known = sizes[place] { return known }
    guard depth < Self.deepest else { return leaf(0, nil) }
    depth += 1
    defer { depth -= 1 }
    var sum = leaf(0, nil)
    for element in elements { sum = Self.sum(sum, size(element, &self)) }
    if !elements.isEmpty { sizes[place] = sum }
    return sum
  }

  private static func sum(_ left: Int, _ right: Int) -> Int {
    let (sum, overflows) = left.addingReportingOverflow(right)
    return overflows ? .max : sum
  }
}

/// Limits the number of bytes written for one value, so that a small value cannot produce an enormous output by containing the same storage
/// many times.
package struct OutputLimit {
  /// The size, in bytes, up to which a value is written without checking how much of it is shared.
  static let free = 1 << 26
  /// The maximum ratio of a value's encoded size to its size with shared storage counted only once.
  static let ratio = 64

  private let most: Int
  /// The output size, in bytes, above which ``check(_:of:)`` checks the limits again.
  private var next: Int

  package init(_ limits: ArchiveLimits) {
    most = max(0, limits.outputSize)
    next = min(Self.free, most)
  }

  /// Starts counting for the next value. `count` is the output size, in bytes, at the start of the value.
  package mutating func begin(at count: Int) { next = min(most, count > most ? most : count + Self.free) }

  /// Checks the output size, in bytes, while a value is written.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if `count` is beyond the limit, or if the encoded value would be too large
  ///   compared with its size with shared storage counted only once.
  @inline(__always)
  package mutating func check(_ count: Int, of value: @autoclosure () -> ArchiveValue?) throws(ArchiveError) {
    if count > next { try look(count, value()) }
  }

  @inline(never)
  private mutating func look(_ count: Int, _ value: ArchiveValue?) throws(ArchiveError) {
    guard count <= most else {
      throw Self.exceeded(
        "the output has more than \(most) bytes; write the value in parts, or raise the limit outputSize")
    }
    // Shared storage is checked only once for each value, because the check already considers the complete encoded size.
    next = most
    guard let value else { return }
    let sharing = ValueSharing(of: value)
    let (shared, overflows) = sharing.distinct.multipliedReportingOverflow(by: Self.ratio)
    guard overflows || sharing.written <= shared + Self.free else {
      throw Self.exceeded(
        "repeated shared parts would make the output more than \(Self.ratio) times as large as the value; write the value in "
          + "parts"
      )
    }
  }

  private static func exceeded(_ reason: String) -> ArchiveError {
    ArchiveError(.limitExceeded, reason, limit: .outputSize)
  }
}
