/// The objects that are written in place, as parts of what refers to them: one that refers to itself has no end, and
/// where each refers to the next one twice, there are more paths than anybody can write.
///
/// The writers that order the sets inside of what is written count with the one that writes it.
final class ObjectsInPlace {
  /// Up to this number of bytes nothing is looked at, and as many may always be written again.
  private static let free = 1 << 18
  /// How many times more than all else objects may take that were written before.
  private static let ratio = 64

  /// Those that are being written, each inside the one before.
  private var open: [ObjectIdentifier] = []
  /// The index of the first open one that was written before.
  private var repeated: Int?
  /// The objects that were met since there is a look, which are kept so that no other one takes their identity; `nil` while
  /// little was written.
  private var met: [ObjectIdentifier: AnyObject]?
  /// The bytes of objects that were met before, and all others, since there is a look.
  private var repeatedBytes = 0
  private var otherBytes = 0

  /// Begins an object; each needs its ``end(after:)``.
  ///
  /// - Parameter bytes: how many were written since the last call.
  /// - Throws: ``ArchiveError`` with the code `notEncodable` where the object is open, and `limitExceeded` where objects are
  ///   written again and again and too much is written.
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
        "objects that many others refer to would be written again with each of them, as more than \(Self.ratio) times their size; write an archive, which has each once, or leave references out",
        typeName: type(of: object).schema.name, limit: .outputSize)
    }
    if met?.updateValue(object as AnyObject, forKey: identity) != nil, repeated == nil { repeated = open.count }
    open.append(identity)
  }

  /// Ends the last object that was begun.
  func end(after bytes: Int) {
    add(bytes)
    open.removeLast()
    if repeated == open.count { repeated = nil }
  }

  /// Counts what was written since an object began or ended.
  private func add(_ bytes: Int) {
    if repeated == nil { otherBytes &+= bytes } else { repeatedBytes &+= bytes }
    if met == nil, otherBytes > Self.free { (met, otherBytes) = ([:], 0) }
  }
}
