/// Tracks the objects that are written in place, as parts of the objects that refer to them. Writing an object that
/// refers to itself would never end. If each object refers to the next one twice, the output would grow exponentially.
///
/// The writers that sort the sets inside a value share this instance with the writer of the value.
final class ObjectsInPlace {
  /// The number of bytes below which nothing is checked. Up to this many repeated bytes are always allowed.
  private static let free = 1 << 18
  /// The maximum ratio of bytes of repeated objects to all other bytes.
  private static let ratio = 64

  /// The objects that are being written, outermost first.
  private var open: [ObjectIdentifier] = []
  /// The index of the outermost open object that is a repetition; `nil` if there is none.
  private var repeated: Int?
  /// The objects seen since checking began; `nil` until enough bytes have been written. The objects are retained, so
  /// that their identities are not reused.
  private var seen: [ObjectIdentifier: AnyObject]?
  /// The number of bytes of repeated objects since checking began. `otherBytes` counts all other bytes.
  private var repeatedBytes = 0
  private var otherBytes = 0

  /// Begins an object. Each call must be balanced by a call to ``end(after:)``.
  ///
  /// - Parameter bytes: the number of bytes written since the last call.
  /// - Throws: ``ArchiveError`` with the code `notEncodable` if the object is already open, and `limitExceeded` if
  ///   repeated objects make the output too large.
  func begin(_ object: some VersionedModel, after bytes: Int) throws(ArchiveError) {
    let identity = object.identity
    guard !open.contains(identity) else {
      throw ArchiveError(
        .notEncodable,
        "the object refers to itself, which only an archive can represent; write an archive, or exclude a reference",
        typeName: type(of: object).schema.name)
    }
    add(bytes)
    guard repeatedBytes <= Self.free || repeatedBytes / Self.ratio <= otherBytes else {
      throw ArchiveError(
        .limitExceeded,
        "repeated shared objects would take more than \(Self.ratio) times their size; write an archive, which stores "
          + "each object once, or exclude references",
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
