import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

/// A store on which the tests run commands.
struct StoreScene {
  let scratch: Scratch
  let store: String

  init(_ name: String = "models.store") throws {
    scratch = try Scratch()
    store = scratch.path(name)
    #expect(Run("store", "init", store).code == 0)
  }

  /// Runs `strata store COMMAND STORE …`.
  func run(_ command: String, _ arguments: String..., input: Data = Data()) -> Run {
    Run(["store", command, store] + arguments, input: input)
  }

  /// The JSON document that a command prints.
  func json(
    _ command: String, _ arguments: String..., code: Int32 = 0, at location: SourceLocation = #_sourceLocation
  ) throws -> ArchiveValue {
    let run = Run(["store", command, store] + arguments + ["--json"])
    #expect(run.code == code, "\(run.error)", sourceLocation: location)
    return try JSONReader().read(run.output)
  }

  /// Saves a JSON document.
  @discardableResult
  func save(_ key: String, _ text: String, _ options: String...) throws -> Run {
    let run = Run(["store", "save", store, key, "-"] + options, input: Data(text.utf8))
    #expect(run.code == 0, "\(run.error)")
    return run
  }
}

struct StoreCommandTests {
  let scene: StoreScene

  init() throws { scene = try StoreScene() }

  private static let keys = [
    "key", "revision", "sequence", "time", "action", "origin", "author", "note", "type", "modelVersion",
  ]

  @Test func makingAStore() throws {
    #expect(try scene.json("init") == ["store": .string(scene.store), "made": false])
    let other = try StoreScene("other")
    #expect(Run("store", "init", other.scratch.path("third")).text == "created  \(other.scratch.path("third"))\n")
    let file = try other.scratch.file("text", "a text of some length, which is no database of SQLite at all")
    Run("store", "init", file).expectFailure("text: ", "too short for an SQLite database")
    Run("store", "init", other.scratch.url.path).expectFailure("folder")
    Run("store", "init", other.scratch.path("none/store")).expectFailure("none/store: ", "check that its folder exists")
  }

  @Test("store save keeps JSON values, and store export returns the exact bytes of an archive")
  func saving() throws {
    #expect(try scene.save("issue/1", #"{"b": 1, "a": [true, null, 1.50]}"#).text == "saved  issue/1  revision 1\n")
    let revision = try scene.json("show", "issue/1")
    #expect(revision.objectValue?.keys == Self.keys + ["value"])
    #expect(revision["value"] == (try JSONReader().read(Data(#"{"b": 1, "a": [true, null, 1.50]}"#.utf8))))
    #expect(revision["author"] == .null && revision["action"] == "save")

    let archive = try ArchiveEncoder().encode(
      ModelRecord(typeName: "Issue", modelVersion: 3, fields: [("title", "T"), ("at", .date(.distantPast))]))
    let path = try scene.scratch.file("a.strata", archive)
    #expect(scene.run("save", "issue/2", path, "--author", "ann", "--note", "new").code == 0)
    let shown = scene.run("show", "issue/2")
    #expect(shown.text.contains("author    ann\nnote      new\n\nIssue@3\n  title: \"T\"\n"), "\(shown.text)")
    #expect(scene.run("export", "issue/2", "-o", scene.scratch.path("b.strata")).code == 0)
    #expect(try scene.scratch.data("b.strata") == archive)
    #expect(scene.run("export", "issue/2", "-o", "-").output == archive)
    // Commands that only read leave journal files behind, which the next save removes.
    try scene.save("issue/2", "1")
    #expect(try scene.scratch.names == ["a.strata", "b.strata", "models.store"])

    // Like `encode`, `store save` accepts a type for JSON.
    try scene.save("issue/3", #"{"title": "T"}"#, "--type", "Issue", "--model-version", "4")
    let typed = try scene.json("show", "issue/3")
    #expect(typed["type"] == "Issue" && typed["modelVersion"] == 4)
    #expect(scene.run("show", "issue/3", "--depth", "0").text.hasSuffix("\n\nIssue@4\n"))
  }

  @Test func whatCannotBeSaved() throws {
    let archive = try scene.scratch.file("a.strata", ArchiveEncoder().encode(ArchiveValue.int(1)))
    scene.run("save", "k", archive, "--type", "T").expectFailure("--type applies only to JSON")
    scene.run("save", "k", scene.scratch.path("none")).expectFailure("none")
    scene.run("save", "k", "-").expectFailure("standard input", "empty")
    scene.run("save", "k", "-", input: Data("{\"a\": 1, \"a\": 2}".utf8)).expectFailure(
      "standard input", "duplicate key")
    scene.run("save", "k", "-", input: Data("PK".utf8)).expectFailure("a ZIP file")
    scene.run("save", "k", Legacy.path("bookmarks.plist")).expectFailure("strata convert")
    scene.run("save", "k", try scene.scratch.file("cut", Data(contentsOf: URL(fileURLWithPath: archive)).dropLast()))
      .expectFailure("models.store: ", "cannot be saved", "key k")
    scene.run("save", "k", try scene.scratch.file("s", Streams.stream([[1]]))).expectFailure("models.store: ")
    scene.run("save", "", "-", input: Data("1".utf8)).expectFailure("1,000 bytes")
    #expect(try scene.json("list", "--deleted") == ["keys": []])
    for arguments in [
      ["save", "k"], ["save", "k", "-", "--if-absent", "--if-revision", "1"], ["show", "k", "--depth=-1"],
    ] {
      #expect(Run(["store", arguments[0], scene.store] + arguments.dropFirst()).code == 64)
    }
  }

  @Test(
    "Only store init creates a store", .tags(.long),
    arguments: Effort.sample(2, of: ["save", "show", "list", "history", "undo", "restore", "diff"]))
  func whereThereIsNoStore(_ command: String) throws {
    let path = scene.scratch.path("none")
    let arguments = ["save": ["k", "-"], "list": [], "restore": ["k", "1"]][command] ?? ["k"]
    let code: Int32 = command == "diff" ? 2 : 1
    Run(["store", command, path] + arguments, input: Data("1".utf8)).expectFailure(code: code, "none: ", "store init")
    #expect(Run(["store", command, "-"] + arguments).code == 64)
    Run(["store", command, scene.scratch.url.path + "/"] + arguments, input: Data("1".utf8))
      .expectFailure(code: code, "folder")
    let other = try scene.scratch.file("file", Data(repeating: 7, count: 5000))
    Run(["store", command, other] + arguments, input: Data("1".utf8)).expectFailure(code: code, "file: ")
    #expect(try scene.scratch.data("file") == Data(repeating: 7, count: 5000))
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("--if-absent and --if-revision reject a save that would overwrite another one")
  func conditions() throws {
    try scene.save("k", "1", "--if-absent")
    scene.run("save", "k", "-", "--if-absent", input: Data("2".utf8)).expectFailure("already has a value", "key k")
    scene.run("save", "k", "-", "--if-revision", "2", input: Data("2".utf8)).expectFailure(
      "the last revision is no longer revision 2")
    try scene.save("k", "2", "--if-revision", "1")
    #expect(try scene.json("show", "k")["value"] == 2)
  }

  @Test func history() throws {
    try scene.save("k", #"{"a": 1, "b": 1}"#, "--author", "ann")
    try scene.save("k", #"{"a": 2, "b": 1}"#)
    #expect(scene.run("label", "k", "first", "--revision", "1").code == 0)
    #expect(scene.run("undo", "k").text == "undone  k  revision 3, with the state of revision 1\n")
    #expect(scene.run("redo", "k", "--note", "again").text == "redone  k  revision 4, with the state of revision 2\n")
    scene.run("redo", "k").expectFailure("no undone change is left")
    #expect(scene.run("restore", "k", "label:first").text == "restored  k  revision 5, with the state of revision 1\n")
    #expect(scene.run("delete", "k").text == "deleted  k  revision 6\n")
    scene.run("show", "k").expectFailure("revision 6 deleted the value of the key “k”")
    scene.run("delete", "k").expectFailure("no value to delete")

    let revisions = try #require(try scene.json("history", "k")["revisions"]?.arrayValue)
    #expect(revisions.allSatisfy { $0.objectValue?.keys == Self.keys + ["labels"] })
    #expect(revisions.map { $0["action"] } == ["save", "save", "undo", "redo", "restore", "delete"])
    #expect(revisions.map { $0["origin"] } == [.null, .null, 1, 2, 1, .null])
    #expect(revisions.map { $0["labels"] } == [["first"], [], [], [], [], []])
    let lines = scene.run("history", "k").text.split(separator: "\n")
    #expect(
      lines.count == 7 && lines[0] == "revision  action     type     time                      author  note"
        && lines[1].hasSuffix("Z  ann      [first]") && lines[6].contains("  deleted  "))

    #expect(scene.run("list").text.isEmpty)
    #expect(try scene.json("list", "--deleted")["keys"]?.arrayValue?.count == 1)
    #expect(scene.run("undo", "k").text == "undone  k  revision 7, with the state of revision 5\n")
    #expect(try scene.json("show", "k")["value"] == ["a": 1, "b": 1])
    #expect(try scene.json("show", "k", "--revision", "4")["value"] == ["a": 2, "b": 1])
    let time = try #require(revisions[5]["time"]?.stringValue)
    scene.run("show", "k", "--revision", time).expectFailure("revision 6")
    #expect(scene.run("label", "k", "first", "--remove").code == 0)
    scene.run("show", "k", "--revision", "label:first").expectFailure("first")
    scene.run("show", "k", "--revision", "99").expectFailure("99")
    for point in ["0", "-1", "x", "label:", "2026-13-01T00:00:00Z"] {
      #expect(scene.run("restore", "k", point).code == 64, "\(point)")
    }
    for command in ["history", "undo", "redo", "delete"] {
      scene.run(command, "none").expectFailure("none")
    }
  }

  @Test func differences() throws {
    try scene.save("k", #"{"a": 1, "list": [{"id": 1}, {"id": 2}]}"#)
    scene.run("diff", "k").expectFailure(code: 2, "before revision 1")
    try scene.save("k", #"{"a": 2, "list": [{"id": 2}]}"#)
    let run = scene.run("diff", "k", "--values")
    #expect(run.code == 1 && run.text == "~ a  1 → 2\n- list[id=1]  {\"id\":1}\n")
    let document = try scene.json("diff", "k", "2", "1", code: 1)
    #expect(document.objectValue?.keys == ["key", "old", "new", "notes", "changes"])
    #expect(document["changes"]?.arrayValue?.map { $0["kind"] } == ["changed", "added", "reordered"])
    #expect(document["old"]?["revision"] == 2 && document["new"]?["revision"] == 1)
    #expect(scene.run("diff", "k", "2", "latest").code == 0)
    try scene.save("k", #"{"a": 2, "list": []}"#, "--type", "T", "--model-version", "1")
    try scene.save("k", #"{"a": 3, "list": []}"#, "--type", "T", "--model-version", "2")
    let versions = scene.run("diff", "k")
    #expect(versions.code == 1 && versions.text == "T: version 1 was compared with version 2 field by field\n~ a\n")
    #expect(scene.run("delete", "k").code == 0)
    #expect(scene.run("diff", "k").text == "~ .\n")
    scene.run("diff", "k", "7").expectFailure(code: 2, "7")
    scene.run("diff", "none").expectFailure(code: 2, "none")
  }

  @Test("store export never overwrites the store and can export an earlier revision")
  func exporting() throws {
    try scene.save("k", "[1, 2]")
    scene.run("export", "k", "-o", scene.store).expectFailure("would overwrite the store or its journal")
    scene.run("export", "k", "-o", scene.store + "-wal").expectFailure("would overwrite the store or its journal")
    scene.run("export", "none", "-o", scene.scratch.path("x")).expectFailure("no key “none”")
    #expect(scene.run("export", "k", "-o", "-", "--json").code == 64)
    let report = try scene.json("export", "k", "-o", scene.scratch.path("x"), "--revision", "1")
    #expect(report["size"] == .integer(try scene.scratch.data("x").count))
    #expect(try ArchiveDecoder().decodeValue(from: scene.scratch.data("x")) == [1, 2])
  }

  @Test("store import saves each changed file once and reports unchanged, other and failed files")
  func importing() throws {
    let folder = try Scratch()
    try FileManager.default.createDirectory(atPath: folder.path("in/sub"), withIntermediateDirectories: true)
    _ = try folder.file("in/a.json", #"{"a": -0.0}"#)
    _ = try folder.file("in/sub/b.strata", ArchiveEncoder().encode(ArchiveValue.int(2)))
    _ = try folder.file("in/text.txt", "a text")
    _ = try folder.file("in/five.json", "5")
    _ = try folder.file("in/bad.json", "{\"a\": }")
    _ = try folder.file("in/list.plist", Legacy.data("bookmarks.plist"))
    let first = try scene.json("import", folder.path("in"), "--prefix", "x/", "--author", "ann", code: 1)
    #expect(first["counts"] == ["saved": 3, "same": 0, "other": 2, "failed": 1])
    let files = try #require(first["files"]?.arrayValue)
    #expect(files.map { $0["file"] } == ["a.json", "bad.json", "five.json", "list.plist", "sub/b.strata", "text.txt"])
    #expect(files.map { $0["outcome"] } == ["saved", "failed", "saved", "other", "saved", "other"])
    #expect(files.allSatisfy { $0.objectValue?.keys == ["file", "outcome", "key", "revision", "message"] })
    #expect(files[1]["message"]?.stringValue?.contains("bad.json") == true)
    #expect(try scene.json("show", "x/sub/b.strata")["value"] == 2)

    try FileManager.default.removeItem(atPath: folder.path("in/bad.json"))
    _ = try folder.file("in/a.json", #"{"a": 0.0}"#)
    let second = scene.run("import", folder.path("in"), "--prefix", "x/")
    #expect(
      second.code == 0 && second.text.hasSuffix("\n1 saved, 2 unchanged, 2 in other formats, 0 failed\n"),
      "\(second.text)")
    #expect(second.text.hasPrefix("saved  x/a.json  revision 2\nsame  x/five.json  revision 1\n"))
    #expect(scene.run("list", "--prefix", "x/f").text.contains("\nx/five.json  1         Value  "))
    #expect(scene.run("import", folder.path("none")).code == 1)
    try FileManager.default.createDirectory(atPath: folder.path("empty"), withIntermediateDirectories: true)
    #expect(scene.run("import", folder.path("empty")).code == 1)
  }

  @Test("store import continues after a file that would replace a newer model")
  func importingOverNewer() throws {
    let folder = try Scratch()
    try FileManager.default.createDirectory(atPath: folder.path("in"), withIntermediateDirectories: true)
    let document = try folder.file("document.json", #"{"a": 1}"#)
    #expect(scene.run("save", "old", document, "--type", "Document", "--model-version", "2").code == 0)
    #expect(scene.run("export", "old", "-o", folder.path("in/a.strata")).code == 0)
    #expect(scene.run("save", "a.strata", document, "--type", "Document", "--model-version", "3").code == 0)
    _ = try folder.file("in/b.json", "5")
    let report = try scene.json("import", folder.path("in"), code: 1)
    #expect(report["counts"] == ["saved": 1, "same": 0, "other": 0, "failed": 1])
    #expect(report["files"]?.arrayValue?.first?["message"]?.stringValue?.contains("newer program") == true)
    scene.run("save", "a.strata", folder.path("in/a.strata")).expectFailure("newer program")
    #expect(scene.run("save", "a.strata", folder.path("in/a.strata"), "--over-newer").code == 0)
  }

  @Test("store check finds damage, salvage recovers the other keys, and backup copies everything")
  func damage() throws {
    for number in 0..<5 { try scene.save("k\(number)", #"{"n": \#(number)}"#) }
    #expect(scene.run("check").text == "clean  \(scene.store)  0 revisions read\n")
    let clean = try scene.json("check", "--full")
    #expect(clean.objectValue?.keys == ["store", "clean", "checkedRevisions", "findings", "omittedFindings"])
    #expect(clean["clean"] == true && clean["checkedRevisions"] == 5)
    #expect(scene.run("check", "--full", "--share", "5").code == 64)

    let copy = scene.scratch.path("copy.store")
    let backup = try scene.json("backup", "-o", copy)
    let size = try scene.scratch.data("copy.store").count
    #expect(backup["sequence"] == 5 && backup["size"] == .integer(size))
    #expect(Run("store", "check", copy, "--full").code == 0)
    scene.run("backup", "-o", scene.store).expectFailure("models.store: ")

    // Changes the last byte of one value.
    var bytes = try scene.scratch.data("models.store")
    let row = try #require(
      bytes.lastRange(of: Data([0xA1, 0x61, 0x6E, 0x03])) ?? bytes.lastRange(of: Data([0x6E, 0x03])))
    bytes[row.upperBound - 1] = 4
    _ = try scene.scratch.file("models.store", bytes)
    #expect(scene.run("check").code == 0)
    let found = try scene.json("check", "--full", code: 1)
    #expect(found["findings"]?.arrayValue?.map { $0["key"] } == ["k3"])
    let rest = scene.scratch.path("rest.store")
    let report = try scene.json("salvage", "-o", rest, code: 1)
    #expect(report["keys"] == 4 && report["revisions"] == 4 && report["complete"] == false)
    #expect(Run("store", "check", rest, "--full").code == 0)
    scene.run("salvage", "-o", rest).expectFailure(code: 2, "models.store: ")
    scene.run("check", "--wait=-1").expectFailure(code: 64)
  }

  @Test("store upgrade lists the models that only the app can upgrade, with the code to run")
  func upgrade() throws {
    #expect(scene.run("upgrade").text.hasSuffix("\nmodels  none to upgrade\n"))
    try scene.save("plain", "[1]")
    for (key, options) in [
      ("a", ["--type", "T", "--model-version", "1"]), ("b", ["--type", "T", "--model-version", "3"]),
      ("c", ["--type", "[String: T?]", "--model-version", "2"]), ("d", ["--type", "U", "--model-version", "7"]),
    ] {
      let archive = scene.scratch.path("\(key).strata"), source = try scene.scratch.file("\(key).json", #"{"n": 1}"#)
      #expect(Run(["encode", source, "-o", archive] + options).code == 0)
      #expect(scene.run("save", key, archive).code == 0)
    }
    let before = try scene.json("list")
    let dry = try scene.json("upgrade", "--dry-run")
    #expect(dry["old"] == 2 && dry["dryRun"] == true && dry["format"] == 1)
    #expect(dry["swift"] == "try await store.upgrade([T.self, U.self])")
    #expect(
      dry["models"]?.arrayValue?.first == [
        "type": "T", "modelVersion": 1, "newestInStore": 3, "revisions": 1,
      ])
    let run = scene.run("upgrade")
    #expect(run.code == 0)
    #expect(
      run.text.hasSuffix(
        """

        T@1             1 revision  older than version 3, the newest in this store
        T@3             1 revision  the newest version in this store
        U@7             1 revision  the newest version in this store
        [String: T?]@2  1 revision  older than version 3, the newest in this store

        To upgrade 2 revisions of older versions, run this code in the app with these types:
          try await store.upgrade([T.self, U.self])

        """), "\(run.text)")
    #expect(try scene.json("list") == before)
    Run("store", "upgrade", scene.scratch.path("none")).expectFailure("none: the file does not exist")
    #expect(scene.run("upgrade", "extra").code == 64)
  }

  @Test("store status counts revisions, and prune keeps the last revisions and labeled ones")
  func pruning() throws {
    for number in 1...6 { try scene.save("k", "\(number)") }
    try scene.save("l", #"{"a": 1}"#, "--type", "T", "--model-version", "2")
    #expect(scene.run("label", "k", "first", "--revision", "1").code == 0)
    let status = try scene.json("status")
    #expect(status["keys"] == 2 && status["revisions"] == 7 && status["sequence"] == 7)
    #expect(
      status["types"]?.arrayValue?.last == ["type": "Value", "modelVersion": .null, "revisions": 6, "keys": 1])
    #expect(scene.run("status").text.hasSuffix("\n\nT@2    1 revision   1 key\nValue  6 revisions  1 key\n"))
    scene.run("prune").expectFailure("models.store: ", "--keep-last")
    scene.run("backup", "-o", scene.scratch.path("none/backup")).expectFailure("for the backup does not exist")
    let dry = try scene.json("prune", "--keep-last", "2", "--dry-run")
    #expect(dry["removed"] == ["k": [2, 3, 4]] && dry["dryRun"] == true)
    #expect(try scene.json("history", "k")["revisions"]?.arrayValue?.count == 6)
    #expect(scene.run("prune", "--keep-last", "2").text.hasPrefix("removed  3 revisions of 1 key, "))
    #expect(try scene.json("history", "k")["revisions"]?.arrayValue?.map { $0["revision"] } == [1, 5, 6])
    #expect(try scene.json("show", "k", "--revision", "5")["value"] == 5)
    #expect(scene.run("check", "--full").code == 0)
  }

  @Test("verify checks a store, alone or in a folder, and inspect shows its status")
  func verifyAndInspect() throws {
    try scene.save("k", #"{"n": 3}"#)
    try scene.save("l", #"{"n": 1}"#)
    let run = Run("verify", scene.store)
    #expect(
      run.code == 0 && run.text.hasPrefix("intact  \(scene.store)  store " + " 2 revisions  "),
      "\(run.text)\(run.error)")
    #expect(Run("inspect", scene.store).text == scene.run("status").text)
    #expect(Run("inspect", scene.store, "--json").output == scene.run("status", "--json").output)
    // `inspect` rejects a database that is not a store, and `verify` reports a store with a changed value as damaged.
    let database = try scene.scratch.file("text.db", "SQLite format 3\0 and no database")
    Run("inspect", database).expectFailure("a SQLite database")
    var bytes = try Data(contentsOf: URL(fileURLWithPath: scene.store))
    let row = try #require(bytes.lastRange(of: Data([0x6E, 0x03])))
    bytes[row.upperBound - 1] = 4
    let folder = scene.scratch.path("folder")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try bytes.write(to: URL(fileURLWithPath: folder + "/damaged.store"))
    let damaged = Run("verify", folder)
    #expect(damaged.code == 1 && damaged.text.hasPrefix("damaged  \(folder)/damaged.store  "), "\(damaged.text)")
  }

  @Test("Keys and authors with control characters take one row each")
  func namesOfAnyKind() throws {
    try scene.save("a\n\u{202E}b", "1", "--author", "x\ty", "--note", "z\r")
    for command in [["list"], ["history", "a\n\u{202E}b"]] {
      let text = Run(["store", command[0], scene.store] + command.dropFirst()).text
      #expect(text.filter { $0.isNewline }.count == 2 && text.contains("\\t"), "\(text)")
    }
    #expect(try scene.json("list")["keys"]?.arrayValue?.first?["key"] == "a\n\u{202E}b")
  }

  @Test("store show accepts --max-values and rejects a negative --wait")
  func limitsAndWaiting() throws {
    try scene.save("k", "[1, 2, 3, 4, 5]")
    scene.run("show", "k", "--max-values", "3").expectFailure("more than 3 values")
    #expect(scene.run("show", "k", "--wait=-1").code == 64)
  }
}
