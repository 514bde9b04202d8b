/// The objects that are written in place, as parts of the objects that refer to them. An object that refers to itself
/// would never end, and if each object refers to the next one twice, the number of paths grows exponentially.
///
/// The writers that order the sets inside a value share the count with the writer of the value.
final class ObjectsInPlace {
  /// Nothing is checked up to this number of bytes, and this many bytes may always be repeated.
  private static let free = 1 << 18
  /// The largest ratio of the bytes of repeated objects to all other bytes.
  private static let ratio = 64

  /// The objects that are being written, outermost first.
  private var open: [ObjectIdentifier] = []
  /// The index of the first open object that was written before.
  private var repeated: Int?
  /// The objects seen since checking began. They are retained, so that their identities are not reused. `nil` while
  /// little was written.
  private var seen: [ObjectIdentifier: AnyObject]?
  /// The bytes of repeated objects, and all other bytes, since checking began.
  private var repeatedBytes = 0
  private var otherBytes = 0

  /// Begins an object. Each call needs its ``end(after:)``.
  ///
  /// - Parameter bytes: the number of bytes written since the last call.
  /// - Throws: ``ArchiveError`` with the code `notEncodable` if the object is already open, and `limitExceeded` if
  ///   repeated objects make the output too large.
  func begin(_ object: some VersionedModel, after bytes: Int) throws(ArchiveError) {
    let identity = object.identity
    guard !open.contains(identity) else {
      throw ArchiveError(
        .notEncodable, "the object refers back to itself, which only an archive can hold; leave a reference out",
        typeName: type(of: object).schema.name)
    }
    add(bytes)
    guard repeatedBytes <= Self.free || repeatedBytes / Self.ratio <= otherBytes else {
      throw ArchiveError(
        .limitExceeded,
        "shared objects would be written once for each reference, as more than \(Self.ratio) times their size; write an archive, which stores each once, or leave references out",
        typeName: type(of: object).schema.name, limit: .outputSize)
    }
    if seen?.updateValue(object as AnyObject, forKey: identity) != nil, repeated == nil { repeated = open.count }
    open.append(identity)
  }

  /// Ends the innermost object.
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
