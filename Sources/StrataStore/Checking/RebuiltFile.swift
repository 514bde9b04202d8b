internal import Foundation
internal import GRDB
internal import StrataCore

/// A copy of a store file that SQLite cannot open, in which the first page is repaired or replaced. The first page contains the
/// size of the file and the root pages of the tables. Without the first page, no other page can be found.
///
/// The first page of a new store can replace the damaged first page. This works because all stores with a file of their own are
/// created by the same statements, so their tables have the same root pages.
struct RebuiltFile {
  /// The page size of every store file, in bytes.
  private static let pageSize = 4096
  private static let magic = Data("SQLite format 3\0".utf8)

  /// A temporary folder for the copy and its journal.
  private let folder: URL
  var path: String { folder.appending(path: "copy").path }
  private var freshPath: String { folder.appending(path: "fresh").path }

  init(of damaged: URL, in folder: URL) throws {
    self.folder = folder
    do {
      try FileManager.default.copyItem(atPath: damaged.path, toPath: path)
      // The write-ahead log is copied too, because it may contain the last saves.
      if try FileStatus(ofPath: damaged.path + "-wal") != nil {
        try FileManager.default.copyItem(atPath: damaged.path + "-wal", toPath: path + "-wal")
      }
    } catch {
      throw StoreError.ofFile(error, "the damaged file could not be copied to a temporary file for the salvage")
    }
  }

  /// Opens the copy. If the tables cannot be found with the copy's own first page, that page is replaced with the first page of a new
  /// store.
  ///
  /// - Throws: ``StoreError`` with the code `notAStore` if nothing in the file indicates that it was a store, or `damaged` if
  ///   essential pages other than the first page are lost.
  func open(_ opening: StoreOpening) throws -> (any DatabaseWriter, StoreTables) {
    let store = SnapshotStore(try StoreOpening(StoreOptions()).open(freshPath))
    let roots = try store.writer.read {
      try Int.fetchAll($0, sql: "SELECT rootpage FROM sqlite_master WHERE rootpage > 0")
    }
    let tables = store.tables
    let needed = try store.writer.read {
      try Int.fetchAll(
        $0, sql: "SELECT rootpage FROM sqlite_master WHERE name IN (?, ?)",
        arguments: [tables.revisions, tables.definitions])
    }
    try store.close()
    let fresh = try Data(contentsOf: URL(fileURLWithPath: freshPath))
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    // An error while closing the file is ignored, because it does not affect the data that was written.
    defer { try? file.close() }
    let size = Int(try file.seekToEnd())
    // Extends the file with zeros, so that its last page is complete and all root pages exist. SQLite finds no rows in the added
    // pages.
    let pages = max((size + Self.pageSize - 1) / Self.pageSize, roots.max() ?? 1)
    try file.truncate(atOffset: UInt64(pages * Self.pageSize))

    let own = try read(1, file)
    if own.starts(with: Self.magic), own[16] == 0x10, own[17] == 0 {
      try write(Self.fitted(own, pages: pages), 1, file)
      do { return try opening.openDamaged(path, isReadOnly: false) } catch  where StoreError.isDamage(error) {
        // The tables cannot be found with the file's own first page, so the first page of a new store is tried next.
      }
    }
    // Selects the root pages that still look intact. In the damaged file, such a page must be a B-tree page of the same kind
    // (table or index) as the page with the same number in a new store.
    let found = try roots.filter { root in
      let kinds: Set<UInt8> = [2, 10].contains(fresh[(root - 1) * Self.pageSize]) ? [2, 10] : [5, 13]
      return kinds.contains(try read(root, file)[0])
    }
    guard needed.allSatisfy({ found.contains($0) }) else {
      throw found.count * 2 < roots.count && !own.starts(with: Self.magic)
        ? StoreError(.notAStore, "the file does not contain a recognizable store")
        : StoreError(.damaged, "the file has too many damaged pages to be salvaged; restore a backup")
    }
    for page in Self.schemaPages(of: fresh) {
      let bytes = fresh.subdata(in: (page - 1) * Self.pageSize..<page * Self.pageSize)
      try write(page == 1 ? Self.fitted(bytes, pages: pages) : bytes, page, file)
    }
    return try opening.openDamaged(path, isReadOnly: false)
  }

  private func read(_ page: Int, _ file: FileHandle) throws -> Data {
    try file.seek(toOffset: UInt64((page - 1) * Self.pageSize))
    guard let bytes = try file.read(upToCount: Self.pageSize), bytes.count == Self.pageSize else {
      throw StoreError(.fileSystem, "a page of the temporary copy cannot be read")
    }
    return Data(bytes)
  }

  private func write(_ bytes: Data, _ page: Int, _ file: FileHandle) throws {
    try file.seek(toOffset: UInt64((page - 1) * Self.pageSize))
    try file.write(contentsOf: bytes)
  }

  /// Returns a copy of a first page with the given number of pages and an empty free list in its header. With this header, SQLite
  /// can read the file, but must not write to it.
  private static func fitted(_ page: Data, pages: Int) -> Data {
    var page = page
    func set(_ number: UInt32, _ offset: Int) {
      withUnsafeBytes(of: number.bigEndian) { page.replaceSubrange(offset..<offset + 4, with: $0) }
    }
    set(UInt32(truncatingIfNeeded: pages), 28)
    set(0, 32)
    set(0, 36)
    // SQLite uses the number of pages in the header only if the change counter (at byte 24) equals the version-valid-for number
    // (at byte 92).
    page.replaceSubrange(92..<96, with: page.subdata(in: 24..<28))
    return page
  }

  /// Returns the numbers of the pages that contain the table `sqlite_master`: the first page and, if it is an interior page, its
  /// child pages.
  private static func schemaPages(of file: Data) -> [Int] {
    func number(_ offset: Int, _ bytes: Int) -> Int { file[offset..<offset + bytes].reduce(0) { $0 << 8 | Int($1) } }
    guard file[100] == 5 else { return [1] }
    let cells = (0..<number(103, 2)).map { number(number(112 + 2 * $0, 2), 4) }
    return [1, number(108, 4)] + cells
  }
}
