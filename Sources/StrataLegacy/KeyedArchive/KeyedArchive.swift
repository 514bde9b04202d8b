public import Foundation
public import StrataCore

/// The contents of a Foundation keyed archive (`NSKeyedArchiver`, also as Mantle writes it), read without its classes.
///
///     let archive = try KeyedArchive(propertyList)
///     archive.graph.resolve(archive.graph.root)?["name"]
///
/// - An object with a class is a `ModelRecord` in ``graph``. Its type is the class name, its fields are those that the
///   class encoded, and references to it are `ArchiveValue.reference(_:)`. So shared objects occur once, and cycles
///   end.
/// - `MTLModelVersion`, which Mantle writes into each model, is the version of the record and not a field.
/// - Foundation's own strings, numbers, dates, data, URLs, UUIDs and collections are inlined as values. A collection
///   that contains itself is an object of the graph, because it would have no end otherwise.
/// - nil and `NSNull` are `ArchiveValue.null`. A key that was not encoded is absent.
///
/// Objects of one class with the same keys have their fields in the order of the first such object.
///
/// Objects are numbered in the order of a depth-first walk from the top keys: keys in the order of the file, and each
/// object with everything inside it before the next.
///
/// The format is the one of swift-corelibs-foundation's `NSKeyedArchiver`: a property list with the keys `$archiver`, `$version`,
/// `$top` and `$objects`, in which numbers (UIDs) refer to objects.
public struct KeyedArchive: Sendable {
  /// The name of the archiver: `NSKeyedArchiver`, a subclass, or another writer.
  public let archiver: String
  /// The version of the format: 100,000.
  public let version: Int
  /// The objects. The root is the value of the key `root`, or an object of all keys if there is no such key.
  ///
  /// ``data(_:)`` writes the changes made here.
  public var graph: ObjectGraph
  /// The values of all keys except `root`, and the index of `root` among the keys.
  private let others: ArchiveObject
  private let rootIndex: Int?
  let classes: [String: KeyedClass]
  private let encodings: [String: KeyedEncoding]
  private let topEncoding: KeyedEncoding
  /// The errors of malformed objects, by their numbers in the graph. Empty unless opened for inspection.
  package let objectErrors: [Int: ArchiveError]
  /// The number of objects plus the bytes of text and data that were read; `nil` for an archive that was not read.
  let size: Int?

  /// The values by their top keys: usually `root`. Values without a key have `$0`, `$1` ….
  public var top: [String: ArchiveValue] {
    Dictionary(topEntries.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// The keys of ``top`` in the order of the file.
  public var topKeys: [String] { topEntries.map(\.key) }

  private var topEntries: [ArchiveObject.Entry] {
    guard let rootIndex else { return graph.root.objectValue?.entries ?? [] }
    var entries = others.entries
    entries.insert(ArchiveObject.Entry(key: Self.rootKey, value: graph.root), at: rootIndex)
    return entries
  }

  static let rootKey = "root"

  /// The version of the format that this program supports, and the only one that exists.
  public static let knownVersion = 100_000

  /// Reads an archive that is a binary or an XML property list.
  ///
  /// - Parameters:
  ///   - data: the property list.
  ///   - limits: the limits on the archive, including the archives nested in it.
  ///   - opensNested: whether data that is a keyed archive itself is decoded.
  /// - Throws: the same errors as ``PropertyListReader/read(_:)`` and `init(_:limits:opensNested:)` with a property list.
  public init(_ data: Data, limits: ArchiveLimits = ArchiveLimits(), opensNested: Bool = false) throws {
    var reader = PropertyListReader()
    reader.limits = limits
    let (data, listLimits) = try reader.binary(data)
    try self.init(BinaryPropertyList(data.bytes, limits: listLimits), limits, opensNested)
  }

  /// Reads the objects of a property list that is a keyed archive.
  ///
  /// Inlined values may nest as deep as `ArchiveLimits.depth`, and at most 512 levels. Objects may refer to each other
  /// in chains of any length. A shared value is repeated at each reference, as often as `ArchiveLimits.values`,
  /// `ArchiveLimits.expandedBytes` and `ArchiveLimits.maxWorkPerByte` allow for the archive's number of objects and its
  /// bytes of text and data. A class chain has at most 64 names.
  ///
  /// Programs archive objects into data and put that into other archives. With `opensNested`, data that begins like a
  /// property list and is a keyed archive becomes the value of its key `root`, or an object of all its keys. Its
  /// objects follow the earlier ones in the same ``graph``. Archives nest in up to 8 levels; deeper ones stay data. All
  /// limits apply to the whole. A property list that is not a keyed archive stays data, and a damaged one is an error.
  /// They replace the data when the archive is written, so do not set `opensNested` to hand an archive back.
  ///
  /// - Parameters:
  ///   - propertyList: the property list.
  ///   - limits: the limits on the archive, including the archives nested in it.
  ///   - opensNested: whether data that is a keyed archive itself is decoded.
  /// - Throws: `ArchiveError` with the code `notAnArchive` if the property list is something else; `newerFormat` for a
  ///   version above ``knownVersion``; `damaged` if a reference has no target, if references refer to each other in a
  ///   cycle, if a class or a Foundation value is malformed, or if the list cannot be written because a number in it
  ///   names no object or a date is not finite; `limitExceeded`. The path begins with the top key.
  /// - Complexity: linear in the size of the property list.
  public init(
    _ propertyList: PropertyList, limits: ArchiveLimits = ArchiveLimits(), opensNested: Bool = false
  ) throws {
    let data = try Self.bytes(of: propertyList)
    try self.init(BinaryPropertyList(data.bytes, limits: .ofChecked), limits, opensNested)
  }

  /// Opens an archive for inspection. A malformed object is a record of its encoded fields, a reference without a
  /// target refers to null, and ``objectErrors`` has the errors.
  ///
  /// - Throws: the same errors as `init(_:limits:opensNested:)` if the data is not a keyed archive or exceeds a limit.
  package init(inspecting propertyList: PropertyList, limits: ArchiveLimits) throws {
    let data = try Self.bytes(of: propertyList)
    try self.init(BinaryPropertyList(data.bytes, limits: .ofChecked), limits, false, isLenient: true)
  }

  private static func bytes(of propertyList: PropertyList) throws -> Data {
    guard propertyList.objects.indices.contains(propertyList.root) else {
      throw KeyedTable.notAnArchive("its outermost object is no dictionary")
    }
    do { return try PropertyListWriter().write(propertyList) } catch {
      throw ArchiveError(.damaged, "the property list cannot be written", underlying: error)
    }
  }

  private init(
    _ list: BinaryPropertyList, _ limits: ArchiveLimits, _ opensNested: Bool, isLenient: Bool = false
  ) throws {
    let table = try KeyedTable(list, limits: limits)
    let nested = opensNested ? KeyedNesting(dataSize: list.dataSize) : nil
    var reader = try KeyedReader(table, limits: limits, nested: nested)
    if isLenient { reader.contents.objectErrors = [:] }
    let values = try reader.read().values
    archiver = table.archiver
    version = table.version
    rootIndex = values.entries.firstIndex { $0.key == Self.rootKey }
    others = ArchiveObject(uniqueEntries: values.entries.filter { $0.key != Self.rootKey })
    graph = ObjectGraph(objects: reader.contents.objects, root: values[Self.rootKey] ?? .object(values))
    classes = reader.contents.classes
    encodings = reader.contents.encodings
    topEncoding = reader.contents.topEncoding
    objectErrors = reader.contents.objectErrors ?? [:]
    size = table.size
  }

  /// Creates an archive from a graph, for writing.
  ///
  /// - Parameters:
  ///   - graph: the objects, and the value to archive.
  ///   - key: the top key of the root.
  public init(_ graph: ObjectGraph, key: String = "root") {
    archiver = "NSKeyedArchiver"
    version = Self.knownVersion
    rootIndex = key == Self.rootKey ? 0 : nil
    others = ArchiveObject()
    objectErrors = [:]
    size = nil
    let root: ArchiveValue =
      key == Self.rootKey ? graph.root : .object(ArchiveObject([ArchiveObject.Entry(key: key, value: graph.root)]))
    self.graph = ObjectGraph(objects: graph.objects, root: root)
    classes = [:]
    encodings = [:]
    topEncoding = KeyedEncoding()
  }

  /// The archive as a binary property list, which `NSKeyedUnarchiver` opens.
  ///
  /// An archive that was read keeps its keys, its classes with their superclasses, and whether each value is inlined or
  /// a separate object. Reading the result gives the same graph. Objects that nothing refers to are omitted. The same
  /// archive always gives the same bytes.
  ///
  /// - Parameter options: how classes and numbers are written if the archive does not determine it.
  /// - Throws: `ArchiveError` with the code `notEncodable` if a reference names no object, an integer takes more than
  ///   128 bits, a number is only known as text, a date of a property list is not finite, a field has a key that the
  ///   archiver reserves, or the archive has no key `root` and its root is not an object of all keys; `limitExceeded`
  ///   if inlined values nest in more than 512 levels, the maximum for reading.
  /// - Complexity: linear in the size of everything reachable from the root. The stack does not grow with the graph.
  public func data(_ options: KeyedWriting = KeyedWriting()) throws -> Data {
    try PropertyListWriter().write(propertyList(options))
  }

  /// The archive as a property list, before ``data(_:)`` converts it to bytes.
  ///
  /// - Throws: the same errors as ``data(_:)``.
  public func propertyList(_ options: KeyedWriting = KeyedWriting()) throws -> PropertyList {
    if rootIndex == nil, graph.root.objectValue == nil {
      throw ArchiveError(
        .notEncodable, "the archive has no top key root, so its root must be an object of all top keys")
    }
    var writer = KeyedWriter(graph.objects, classes: classes, encodings: encodings, options: options)
    return try writer.write(topEntries, topEncoding, archiver: archiver)
  }

  /// The names of a class and its superclasses when the archive was written, the class first. Empty for a class that
  /// the archive does not have.
  public func classChain(of typeName: String) -> [String] { classes[typeName]?.chain ?? [] }

  /// The names of classes to use instead of a class that a program does not have, as specified by the class's author.
  public func classHints(of typeName: String) -> [String] { classes[typeName]?.hints ?? [] }
}
