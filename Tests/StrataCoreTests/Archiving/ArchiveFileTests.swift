import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// Version 1 of `Library`, which an older program uses.
private struct OldLibrary: DescribedModel, Equatable {
  var name = ""
  static let fields = Fields(
    OldLibrary.self, name: "Library", version: 1, Field("name", \.name), make: { OldLibrary(name: $0) })
}

private struct Library: DescribedModel, Equatable, Migratable {
  var title = ""
  static let fields = Fields(
    Library.self, name: "Library", version: 2, Field("title", \.title), make: { Library(title: $0) })
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("name", to: "title")))
}

@Suite("ArchiveFile")
struct ArchiveFileTests {
  private let scratch: Scratch
  private let url: URL

  init() throws {
    scratch = try Scratch()
    url = URL(fileURLWithPath: scratch.path("library.strata"))
  }

  private func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: scratch.url.path).sorted()
  }

  private func code(_ body: () throws -> Void) -> ArchiveError.Code? {
    do { try body() } catch { return (error as? ArchiveError)?.code }
    return nil
  }

  @Test func nothingThenSomething() throws {
    let file = ArchiveFile<Library>(url)
    #expect(try file.load() == nil)
    try file.save(Library(title: "a"))
    try file.save(Library(title: "b"))
    #expect(try file.load()?.value == Library(title: "b"))
    #expect(try names() == ["library.strata"])
  }

  @Test("save() throws fileInUse if another writer created the file after load() found none")
  func createdByAnother() throws {
    let file = ArchiveFile<Library>(url)
    #expect(try file.load() == nil)
    try ArchiveFile<Library>(url).save(Library(title: "theirs"))
    #expect(code { try file.save(Library(title: "mine")) } == .fileInUse)
    #expect(try file.load()?.value == Library(title: "theirs"))
    try file.save(Library(title: "merged"))
    // If `load()` was never called, `save()` replaces any existing file.
    try ArchiveFile<Library>(url).save(Library(title: "new"))
    #expect(code { try file.save(Library(title: "late")) } == .fileInUse)
  }

  @Test(
    "The first save of a newer version keeps the older version's file, with or without a prior load()",
    arguments: [true, false])
  func previous(loads: Bool) throws {
    try ArchiveFile<OldLibrary>(url).save(OldLibrary(name: "old"))
    let file = ArchiveFile<Library>(url)
    if loads {
      let loaded = try #require(try file.load())
      #expect(loaded.value == Library(title: "old") && loaded.report.upgrades.count == 1)
    }
    #expect(try names() == ["library.strata"])
    try file.save(Library(title: "new"))
    try file.save(Library(title: "newer"))
    #expect(try names() == ["library.strata", "library.strata.previous"])
    #expect(try ArchiveDecoder().decode(OldLibrary.self, from: file.previousURL) == OldLibrary(name: "old"))
    #expect(try file.load()?.value == Library(title: "newer"))

    // The older program rejects the newer file and leaves it unchanged.
    let older = ArchiveFile<OldLibrary>(url)
    #expect(code { _ = try older.load() } == .newerModel)
    #expect(code { try older.save(OldLibrary()) } == .newerModel)
    let previous = try #require(try older.loadPrevious())
    #expect(previous.value == OldLibrary(name: "old"))
    guard case .previous(damage: nil) = previous.origin else { return #expect(Bool(false), "\(previous.origin)") }
    #expect(try file.load()?.value == Library(title: "newer"))
  }

  @Test("load() falls back from a damaged file to the previous version, and save() keeps the damaged file")
  func damage() throws {
    try ArchiveFile<OldLibrary>(url).save(OldLibrary(name: "old"))
    let file = ArchiveFile<Library>(url)
    try file.save(Library(title: "new"))
    let intact = try Data(contentsOf: url)
    for count in 0..<intact.count {
      for bytes in [intact.prefix(count), intact.prefix(count) + [intact[count] ^ 0x10] + intact.dropFirst(count + 1)] {
        try Data(bytes).write(to: url)
        let loaded: ArchiveFile<Library>.Loaded?
        do { loaded = try file.load() } catch let error as ArchiveError {
          // A changed byte in the header may turn the format version into a newer one.
          #expect(error.code == .newerFormat, "byte \(count): \(error)")
          continue
        }
        guard case .previous(let damage)? = loaded?.origin else {
          #expect(loaded?.value == Library(title: "new"), "byte \(count)")
          continue
        }
        #expect(loaded?.value == Library(title: "old"))
        #expect(damage.map { [.damaged, .truncated, .notAnArchive].contains($0.code) } ?? false)
      }
    }
    let broken = Data(intact.dropLast())
    try broken.write(to: url)
    try file.save(Library(title: "again"))
    #expect(try Data(contentsOf: file.damagedURL) == broken)
    #expect(try file.load()?.value == Library(title: "again"))
    // Later damaged files don't replace the first copy. Up to nine copies are kept, and only the ninth is replaced.
    for number in 2...11 {
      try Data([UInt8(number)]).write(to: url)
      try ArchiveFile<Library>(url).save(Library(title: "\(number)"))
    }
    #expect(try Data(contentsOf: file.damagedURL) == broken)
    for (number, content) in [(2, 2), (8, 8), (9, 11)] as [(Int, UInt8)] {
      let copy = url.appendingPathExtension("damaged-\(number)")
      #expect(try Data(contentsOf: copy) == Data([content]))
    }
    try broken.write(to: url)
    try Data("x".utf8).write(to: file.previousURL)
    let both = #expect(throws: ArchiveError.self) { try file.load() }
    #expect(both?.code == .truncated)
    #expect(both?.description.contains("“\(file.previousURL.lastPathComponent)” is also damaged (") == true)
    try FileManager.default.removeItem(at: file.previousURL)
    #expect(code { _ = try file.load() } == .truncated)
  }

  @Test("save() throws fileInUse after another writer's save, and typeMismatch for a file of another type")
  func others() throws {
    let (one, other) = (ArchiveFile<Library>(url), ArchiveFile<Library>(url))
    try one.save(Library(title: "a"))
    _ = try other.load()
    try one.save(Library(title: "b"))
    #expect(code { try other.save(Library(title: "c")) } == .fileInUse)
    #expect(try other.load()?.value == Library(title: "b"))
    try other.save(Library(title: "c"))
    #expect(code { try one.save(Library(title: "d")) } == .fileInUse)
    #expect(code { try ArchiveFile<[Library]>(url).save([]) } == .typeMismatch)
    #expect(try one.load()?.value == Library(title: "c"))
  }

  @Test func fieldsThatAnUnraisedVersionLostAreKept() throws {
    struct More: DescribedModel {
      var title = "", note = ""
      static let fields = Fields(
        More.self, name: "Library", version: 2, Field("title", \.title), Field("note", \.note),
        make: { More(title: $0, note: $1) })
    }
    try ArchiveFile<More>(url).save(More(title: "a", note: "b"))
    let file = ArchiveFile<Library>(url)
    #expect(try file.load()?.report.typesWithOtherFields == ["Library"])
    try file.save(Library(title: "c"))
    #expect(try ArchiveDecoder().decode(More.self, from: file.previousURL).note == "b")
  }
}
