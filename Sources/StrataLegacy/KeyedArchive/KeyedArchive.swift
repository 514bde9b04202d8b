public import Foundation
public import StrataCore

/// The contents of a Foundation keyed archive, as written by `NSKeyedArchiver` or Mantle. Reading an archive does not need the
/// archived classes.
///
///     let archive = try KeyedArchive(propertyList)
///     archive.graph.resolve(archive.graph.root)?["name"]
///
/// - An object that has a class is a `ModelRecord` in ``graph``. The record's type is the class name, and its fields are the
///   fields that the class encoded. References to the object are `ArchiveValue.reference(_:)`. Shared objects therefore occur
///   only once, and cycles are possible.
/// - `MTLModelVersion`, which Mantle writes into each model, is the version of the record and not a field.
/// - Foundation's own strings, numbers, dates, data, URLs, UUIDs and collections are inlined as values. A collection that
///   contains itself cannot be inlined, so it is an object of the graph.
/// - nil and `NSNull` are `ArchiveValue.null`. A key that was not encoded is absent.
///
/// If several objects of a class have the same keys, the first of them determines the order of the fields in all their records.
///
/// Objects are numbered by a depth-first traversal from the top keys. Keys are visited in the order of the file, and everything
/// inside an object is visited before the next object.
///
/// The format is defined by `NSKeyedArchiver` in swift-corelibs-foundation. It is a property list with the keys `$archiver`,
/// `$version`, `$top` and `$objects`, in which objects are referenced by numbers called UIDs.
public struct KeyedArchive: Sendable {
  /// The name of the archiver that wrote the archive: `NSKeyedArchiver`, a subclass of it, or the archiver of another program.
  public let archiver: String
  /// The version of the keyed archive format. The only version is 100,000.
  public let version: Int
  /// The objects of the archive. The root is the value of the top key `root`. If there is no such key, the root is an object that
  /// contains the values of all top keys.
  ///
  /// To write changes to the graph, call ``data(_:)``.
  public var graph: ObjectGraph
  /// The values of all top keys except `root`.
  private let others: ArchiveObject
  /// The position of `root` among the top keys, so that the keys are written in their original order; `nil` if there is no key `root`.
  private let rootIndex: Int?
  let classes: [String: KeyedClass]
  private let encodings: [String: KeyedEncoding]
  private let topEncoding: KeyedEncoding
  /// The error of each malformed object, by object number in ``graph``. Empty unless the archive was opened for inspection.
  package let objectErrors: [Int: ArchiveError]
  /// The number of objects plus the number of bytes of text and data in the archive, or `nil` if the archive was not read
  /// from a file.
  let size: Int?

  /// The values by top key, usually only `root`. Values that were archived without a key have the keys `$0`, `$1` and
  /// so on.
  public var top: [String: ArchiveValue] {
    Dictionary(topEntries.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// The keys of ``top``, in the order of the file.
  public var topKeys: [String] { topEntries.map(\.key) }

  private var topEntries: [ArchiveObject.Entry] {
    guard let rootIndex else { return graph.root.objectValue?.entries ?? [] }
    var entries = others.entries
    entries.insert(ArchiveObject.Entry(key: Self.rootKey, value: graph.root), at: rootIndex)
    return entries
  }

  static let rootKey = "root"

  /// The version of the keyed archive format that this library reads and writes. No other version exists.
  public static let knownVersion = 100_000

  /// Reads an archive from a binary or XML property list.
  ///
  /// - Parameters:
  ///   - data: the property list.
  ///   - limits: the limits on the archive, including the archives nested in it.
  ///   - opensNested: whether to decode data that is itself a keyed archive.
  /// - Throws: the same errors as ``PropertyListReader/read(_:)`` and as `init(_:limits:opensNested:)` with a property
  ///   list.
  public init(_ data: Data, limits: ArchiveLimits = ArchiveLimits(), opensNested: Bool = false) throws {
    var reader = PropertyListReader()
    reader.limits = limits
    let (data, listLimits) = try reader.binary(data)
    try self.init(BinaryPropertyList(data.bytes, limits: listLimits), limits, opensNested)
  }

  /// Reads the objects of a property list that is a keyed archive.
  ///
  /// Inlined values can be nested up to `ArchiveLimits.depth`, and at most 512 levels deep. Chains of references between objects can have
  /// any length. A shared value is copied for each reference. `ArchiveLimits.values`, `ArchiveLimits.expandedBytes` and
  /// `ArchiveLimits.maxWorkPerByte` limit the copies. For these limits, the size of the archive is its number of objects plus its bytes of
  /// text and data. The chain of a class and its superclasses has at most 64 names.
  ///
  /// Programs can store an archive as data in another archive. If `opensNested` is set, data that begins like a property list and is a
  /// keyed archive is replaced with the value of its key `root`, or with an object of all its keys if there is no such key. The nested
  /// archive's objects are appended to the same ``graph``. Archives are opened up to 8 levels deep, and deeper archives remain data. All
  /// limits apply to the total of the outermost archive and the nested archives. A property list that is not a keyed archive remains data,
  /// and a damaged property list is an error. If the archive is written again, it contains the decoded values instead of the data. If the
  /// data must stay unchanged, do not set `opensNested`.
  ///
  /// - Parameters:
  ///   - propertyList: the property list.
  ///   - limits: the limits on the archive, including the archives nested in it.
  ///   - opensNested: whether to decode data that is itself a keyed archive.
  /// - Throws: `ArchiveError` with the code `notAnArchive` if the property list is not a keyed archive; `newerFormat` for a
  ///   version above ``knownVersion``; `damaged` if a reference has no target, if references refer to each other in a cycle, if a
  ///   class or a Foundation value is malformed, or if the list cannot be written because it refers to an object that does not
  ///   exist or contains a date that is not finite; `limitExceeded`. The path begins with the top key.
  /// - Complexity: linear in the size of the property list.
  public init(
    _ propertyList: PropertyList, limits: ArchiveLimits = ArchiveLimits(), opensNested: Bool = false
  ) throws {
    let data = try Self.bytes(of: propertyList)
    try self.init(BinaryPropertyList(data.bytes, limits: .ofChecked), limits, opensNested)
  }

  /// Opens an archive for inspection. A malformed object becomes a record of its encoded fields, and a reference
  /// without a target refers to null. The errors are collected in ``objectErrors``.
  ///
  /// - Throws: the same errors as `init(_:limits:opensNested:)` if the data is not a keyed archive or exceeds a limit.
  package init(inspecting propertyList: PropertyList, limits: ArchiveLimits) throws {
    let data = try Self.bytes(of: propertyList)
    try self.init(BinaryPropertyList(data.bytes, limits: .ofChecked), limits, false, isLenient: true)
  }

  private static func bytes(of propertyList: PropertyList) throws -> Data {
    guard propertyList.objects.indices.contains(propertyList.root) else {
      throw KeyedTable.notAnArchive("the outermost object is not a dictionary")
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
  ///   - graph: the objects, and the root value to archive.
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

  /// Returns the archive as a binary property list, which `NSKeyedUnarchiver` can open.
  ///
  /// If the archive was read from a file, the result has the same keys, and the same classes with their superclasses. Each value
  /// is inlined or a separate object, as in the file. Reading the result gives the same graph. Objects to which nothing refers
  /// are omitted. The same archive always gives the same bytes.
  ///
  /// - Parameter options: how classes and numbers that were not read from an archive are written.
  /// - Throws: `ArchiveError` with the code `notEncodable` if a reference names an object that does not exist, an integer has more than 128
  ///   bits, a number is only known as text, a date of a property list is not finite, a field has a key that the archiver reserves, or the
  ///   archive has no key `root` and the root of ``graph`` is not an object; `limitExceeded` if inlined values are nested more than 512
  ///   levels deep, the maximum for reading.
  /// - Complexity: linear in the size of everything reachable from the root. The stack does not grow with the graph.
  public func data(_ options: KeyedWriting = KeyedWriting()) throws -> Data {
    try PropertyListWriter().write(propertyList(options))
  }

  /// Returns the archive as a property list, which ``data(_:)`` converts to bytes.
  ///
  /// - Throws: the same errors as ``data(_:)``.
  public func propertyList(_ options: KeyedWriting = KeyedWriting()) throws -> PropertyList {
    if rootIndex == nil, graph.root.objectValue == nil {
      throw ArchiveError(
        .notEncodable,
        "the archive has no top-level key “root”; use an object that contains all top-level keys as the root of "
          + "the graph"
      )
    }
    var writer = KeyedWriter(graph.objects, classes: classes, encodings: encodings, options: options)
    return try writer.write(topEntries, topEncoding, archiver: archiver)
  }

  /// Returns the name of a class and the names of its superclasses, as recorded in the archive. Returns an empty array if the archive does
  /// not contain the class.
  public func classChain(of typeName: String) -> [String] { classes[typeName]?.chain ?? [] }

  /// Returns the names of a class's fallback classes. A program that does not have the class can use one of them to decode the class's
  /// objects. The class chose them by overriding `classFallbacksForKeyedArchiver()`. Returns an empty array if there are none.
  public func classHints(of typeName: String) -> [String] { classes[typeName]?.hints ?? [] }
}
