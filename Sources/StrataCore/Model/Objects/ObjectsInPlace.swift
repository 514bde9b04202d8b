/// Tracks objects that are written in place, inside the objects that refer to them. Without tracking, writing an object that refers to
/// itself would never end, and repeated objects could make the output grow exponentially.
///
/// The elements of a set are first encoded by separate writers, in order to sort them. These writers share one tracker with the writer of
/// the set.
final class ObjectsInPlace {
  /// The number of bytes after which the writer starts to count repeated objects. Repeated objects may always use up to this number of
  /// bytes.
  private static let free = 1 << 18
  /// The maximum ratio of the bytes of repeated objects to all other bytes in the output.
  private static let ratio = 64

  /// The nested objects that are currently being written, outermost first.
  private var open: [ObjectIdentifier] = []
  /// The index in `open` of the outermost object that is being written for at least the second time; `nil` if there is none. All bytes of
  /// this object count as repeated.
  private var repeated: Int?
  /// The objects that have been written since the writer started to count repeated objects; `nil` before that. The objects are retained,
  /// because a new object could otherwise have the same identity as a released one.
  private var seen: [ObjectIdentifier: AnyObject]?
  /// The number of bytes written for repeated objects since the writer started to detect them. `otherBytes` counts all other bytes; it is
  /// reset to 0 when the detection starts.
  private var repeatedBytes = 0
  private var otherBytes = 0

  /// Must be called before an object is written in place. Each call must be balanced by a call to ``end(after:)``.
  ///
  /// - Parameter bytes: the number of bytes written since the last call of this method or of ``end(after:)``.
  /// - Throws: ``ArchiveError`` with the code `notEncodable` if the object is already open, and `limitExceeded` if
  ///   repeated objects make the output too large.
  func begin(_ object: some VersionedModel, after bytes: Int) throws(ArchiveError) {
    let identity = object.identity
    guard !open.contains(identity) else {
      throw ArchiveError(
        .notEncodable,
        "the object refers to itself, which only an archive can represent; write an archive, or exclude one of the "
          + "references in the cycle",
        typeName: type(of: object).schema.name)
    }
    add(bytes)
    guard repeatedBytes <= Self.free || repeatedBytes / Self.ratio <= otherBytes else {
      throw ArchiveError(
        .limitExceeded,
        "repeated shared objects would make the output more than \(Self.ratio) times as large; write an archive, which "
          + "stores each object once, or exclude some of the references",
        typeName: type(of: object).schema.name, limit: .outputSize)
    }
    if seen?.updateValue(object as AnyObject, forKey: identity) != nil, repeated == nil { repeated = open.count }
    open.append(identity)
  }

  /// Must be called after an object has been written in place. Objects end in the reverse order in which they began.
  func end(after bytes: Int) {
    add(bytes)
    open.removeLast()
    if repeated == open.count { repeated = nil }
  }

  /// Counts the bytes written since the last object began or ended.
  private func add(_ bytes: Int) {
    if repeated == nil { otherBytes &+= bytes } else { repeatedBytes &+= bytes }
    if seen == nil, otherBytes > Self.free { (seen, otherBytes) = ([:], 0) }
  }
}
