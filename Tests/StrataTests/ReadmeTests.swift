// README:begin
import Foundation
import Strata
// README:end
import StrataStore
import StrataTestSupport
import Testing

// The code of the README, up to the section "Try it". A test compares and runs it.

// README:begin
@Model(version: 2)
struct Bug {
  let id: Int
  var title: String
  var status = Status.open  // the default if older data lacks the key
  @Field(json: "html_url") var url: URL  // the key in JSON
  @Field(archive: .excluded) var isSelected = false  // not archived
  var tags: [Tag] = []
}

enum Status: String, Archivable, CaseIterable { case open, closed }

@Model(version: 1)
struct Tag {
  let id: Int
  var name: String
}

extension Bug: Migratable {
  static let migration = MigrationPlan(
    .step(
      from: 1, to: 2,
      .rename("summary", to: "title"), .convert("url", .toURL)))
}

enum V1 {
  @Model(version: 1, name: "Bug")
  struct Bug {
    let id: Int
    var summary: String
    var url: String
  }
}

private struct Steps {
  let url: URL
  var output = ""

  mutating func print(_ items: Any...) {
    output += items.map { "\($0)" }.joined(separator: " ").trimmingCharacters(in: .newlines) + "\n"
  }

  mutating func persist() throws {
    let json = #"{"id": 7, "title": "Crash", "html_url": "https://a.example/7"}"#
    let bug = try Bug(fromJSON: Data(json.utf8))
    try ArchiveEncoder().encode(bug, to: url)
    let same = try ArchiveDecoder().decode(Bug.self, from: url)
    print(same.title, same.status, same.url)
    print(try Stamp(ofFile: url))  // reads only the header
  }

  func keep(_ bug: Bug) throws {
    let file = ArchiveFile<[Bug]>(url)
    var bugs = try file.load()?.value ?? []  // upgrades an older app's data
    bugs.append(bug)
    try file.save(bugs)  // replaces the file atomically
  }

  mutating func upgrade() throws {
    let old = V1.Bug(id: 3, summary: "Slow", url: "https://a.example/3")
    try ArchiveEncoder().encode(old, to: url)

    var report = DecodingReport()
    let bug = try ArchiveDecoder().decode(Bug.self, from: url, report: &report)
    print(bug.title, bug.status, bug.url)
    print(report)
  }

  mutating func merge() throws {
    let opened = try ArchiveDecoder().decode(Bug.self, from: url)
    var bug = opened
    bug.title = "Slow on launch"  // the user's edit

    let body = Data(#"{"id": 3, "title": "Slow", "status": "closed"}"#.utf8)
    let report = try bug.merge(.json(body), base: opened)  // the server's response
    print(report)
    print(bug.title, bug.status)
  }

  mutating func stream(_ bugs: [Bug]) async throws {
    var shown: [Int] = []
    func show(_ bug: Bug) { shown.append(bug.id) }
    var writer = try ArchiveStreamWriter<Bug>(creating: url)
    for bug in bugs { try writer.append(bug) }
    try writer.finish()
    for try await bug in ArchiveSequence(Bug.self, from: url) { show(bug) }
    print(shown)
  }
}

@Model(version: 1)
private final class Drawing {
  var name: String
  init(name: String) { self.name = name }
}

private func keep(_ bug: Bug, in store: SnapshotStore) async throws -> Bug? {
  try await store.save(bug, as: "bug/3")
  let saved = try await store.value(Bug.self, for: "bug/3")
  return saved
}

private func keep(_ drawing: Drawing, in store: SnapshotStore) async throws {
  try store.writeNow { try $0.save(drawing, as: "drawing/1") }
}

private enum WithCodable {
  struct Bug: Codable { var title: String }

  static func open(_ file: Data) throws -> any Codable {
    let bug: any Codable
    // Last year's file: {"summary": "Slow"}
    struct Bug: Codable { var title: String }
    let decoder = JSONDecoder()
    bug = try decoder.decode(Bug.self, from: file)
    // Decoding throws keyNotFound for "title".
    return bug
  }

  static func refresh(_ bug: inout Bug, _ body: Data, _ decoder: JSONDecoder) throws {
    // The user edits the title.
    bug.title = "Slow on launch"
    // The server still has "Slow".
    bug = try decoder.decode(Bug.self, from: body)
    // The title is "Slow". The edit is lost.
  }
}

private enum WithStrata {
  static func open(_ file: Data) throws -> Bug {
    let bug: Bug
    // Last year's file: version 1, summary "Slow"
    // Step 1 → 2: .rename("summary", to: "title")
    let decoder = ArchiveDecoder()
    bug = try decoder.decode(Bug.self, from: file)
    // The file opens. The title is "Slow".
    return bug
  }

  static func refresh(_ bug: inout Bug, _ body: Data, _ opened: Bug) throws {
    // The user edits the title.
    bug.title = "Slow on launch"
    // The server still has "Slow".
    try bug.merge(.json(body), base: opened)
    // The title is "Slow on launch".
  }
}
// README:end

@Suite("README")
struct ReadmeTests {
  private static let readme = Result { try Repository.text("README.md") }
  /// The first screen and the steps.
  private static func start() throws -> String {
    try #require(readme.get().components(separatedBy: "\n## Try it\n").first)
  }

  @Test("The README contains the code of these programs")
  func code() throws {
    let blocks = try Repository.blocks(in: Self.start())
    let program = try Repository.examples("README").joined(separator: "\n")
    // The block for Package.swift has gaps.
    let missing = Repository.parts(of: blocks.filter { !$0.contains(".package(") }, missingFrom: program)
    #expect(blocks.count == 13 && missing.isEmpty, "\(blocks.count) \(missing)")
    #expect(blocks.allSatisfy { $0.split(separator: "\n").allSatisfy { $0.count <= 80 } })
  }

  @Test("The steps print the output shown in the README")
  func steps() throws {
    try withFolder { folder in
      let url = folder.appending(path: "bug.strata")
      var outputs: [String] = []
      for step in [{ try $0.persist() }, { try $0.upgrade() }, { try $0.merge() }] as [(inout Steps) throws -> Void] {
        var steps = Steps(url: url)
        try step(&steps)
        outputs.append(steps.output)
      }
      #expect(try Repository.blocks("", in: Self.start()).map { $0 + "\n" } == outputs)
    }
  }

  @Test("The README's comments about files and refreshes are true")
  func comments() throws {
    let error = #expect(throws: DecodingError.self) { try WithCodable.open(Data(#"{"summary": "Slow"}"#.utf8)) }
    guard case .keyNotFound(let key, _)? = error else { throw try #require(error) }
    #expect(key.stringValue == "title")
    let body = Data(#"{"id": 3, "title": "Slow", "status": "closed"}"#.utf8)
    var plain = WithCodable.Bug(title: "Slow")
    try WithCodable.refresh(&plain, body, JSONDecoder())
    #expect(plain.title == "Slow")

    let old = V1.Bug(id: 3, summary: "Slow", url: "https://a.example/3")
    let opened = try WithStrata.open(ArchiveEncoder().encode(old))
    #expect(opened.title == "Slow" && opened.status == .open)
    var bug = opened
    try WithStrata.refresh(&bug, body, opened)
    #expect(bug.title == "Slow on launch" && bug.status == .closed)
  }

  @Test("A file, a stream and a store return the saved models")
  func stores() async throws {
    let url = try #require(URL(string: "https://a.example/3"))
    let bug = Bug(id: 3, title: "Slow", url: url)
    try await withFolder { folder in
      let steps = Steps(url: folder.appending(path: "bugs.strata"))
      try steps.keep(bug)
      try steps.keep(bug)
      #expect(try ArchiveFile<[Bug]>(steps.url).load()?.value.map(\.id) == [3, 3])
      var stream = Steps(url: folder.appending(path: "stream.strata"))
      try await stream.stream([bug, bug])
      #expect(stream.output == "[3, 3]\n")
      let store = try SnapshotStore(url: folder.appending(path: "bugs.store"))
      #expect(try await keep(bug, in: store)?.title == "Slow")
      try await keep(Drawing(name: "plan"), in: store)
      #expect(try await store.read { try $0.value(Drawing.self, for: "drawing/1")?.name } == "plan")
      try store.close()
    }
  }

  @Test("The README lists the minimum OS versions of Package.swift")
  func systems() throws {
    let package = try Repository.text("Package.swift")
    let readme = try Self.readme.get()
    let systems = package.matches(of: /\.(macOS|iOS|tvOS|watchOS|visionOS)\(\.v([0-9]+)\)/)
    #expect(systems.count == 5)
    for system in systems { #expect(readme.contains("\(system.output.1) \(system.output.2)")) }
  }
}
