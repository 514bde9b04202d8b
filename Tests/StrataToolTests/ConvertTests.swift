import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

struct ConvertTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  final class Folder: DescribedModel {
    var title: String
    var children: [Folder]
    weak var parent: Folder?

    init(title: String, children: [Folder]) {
      self.title = title
      self.children = children
    }

    static let fields = Fields(
      Folder.self, version: 2,
      Field("title", \.title),
      Field("children", \.children, default: []),
      make: { Folder(title: $0, children: $1) })
  }

  @Test(
    "convert writes an archive with the same objects as the keyed archive",
    arguments: ["bookmarks.plist", "bookmarks-xml.plist"])
  func keyedArchives(name: String) throws {
    let output = scratch.path("a.strata")
    let run = Run("convert", Legacy.path(name), "-o", output)
    #expect(run.code == 0 && run.output.isEmpty && run.error.isEmpty, "\(run.error)")
    let data = try scratch.data("a.strata")
    let stamp = try Stamp(of: data)
    #expect(stamp.typeName == "Bookmarks.Folder" && stamp.modelVersion == 2)
    #expect(try ArchiveDecoder().decodeValue(from: data) == .graph(KeyedArchive(Legacy.data(name)).graph))
    #expect(Run("verify", output).text.hasPrefix("intact  \(output)  Bookmarks.Folder@2  1 value  "))
    #expect(try scratch.names == ["a.strata"])
    // Converting from standard input gives the same bytes.
    #expect(try Run("convert", "-", "-o", "-", input: Legacy.data(name)).output == data)
  }

  @Test func renamedClassesOpenAsModels() throws {
    let output = scratch.path("a.strata")
    #expect(
      Run("convert", Legacy.path("bookmarks.plist"), "-o", output, "--rename", "Bookmarks.Folder=Folder").code == 0)
    let folder = try ArchiveDecoder().decode(Folder.self, from: URL(fileURLWithPath: output))
    #expect(folder.title == "All" && folder.children.map(\.title) == ["News"])
  }

  struct Heading: DescribedModel {
    var title: String
    static let fields = Fields(
      Heading.self, version: 2, Field("title", \.title), make: { Heading(title: $0) })
  }

  @Test func renamedClassesOpenAsStructs() throws {
    let archive = Run("convert", Legacy.path("bookmarks.plist"), "-o", "-", "--rename", "Bookmarks.Folder=Heading")
    #expect(try ArchiveDecoder().decode(Heading.self, from: archive.output).title == "All")
  }

  @Test func typesOfRoots() throws {
    func stamp(_ arguments: String...) throws -> Stamp {
      let run = Run(["convert"] + arguments + ["-o", "-"])
      #expect(run.code == 0, "\(run.error)")
      return try Stamp(of: run.output)
    }
    #expect(try stamp(Legacy.path("settings.plist")).typeName == "Value")
    let settings = try stamp(Legacy.path("settings.plist"), "--type", "Settings", "--model-version", "4")
    #expect(settings.typeName == "Settings" && settings.modelVersion == 4)
    let thing = try stamp(Legacy.path("everything.plist"))
    #expect(thing.typeName == "App.Thing" && thing.modelVersion == 3)
    let renamed = try stamp(Legacy.path("everything.plist"), "--type", "Thing", "--model-version", "9")
    #expect(renamed.typeName == "Thing" && renamed.modelVersion == 9)
    let settingsData = Run("convert", Legacy.path("settings.bplist"), "-o", "-").output
    #expect(
      try ArchiveDecoder().decodeValue(from: settingsData)
        == PropertyListReader().readValue(Legacy.data("settings.plist")))
  }

  /// A keyed archive in XML with three top-level keys. The keys `z` and `root` each have their own object, and `list` is an array that
  /// refers twice to the object of `root`.
  private var twoTops: String {
    func reference(_ number: Int) -> String { "<dict><key>CF$UID</key><integer>\(number)</integer></dict>" }
    return """
      <plist><dict><key>$archiver</key><string>A</string><key>$version</key><integer>100000</integer>
      <key>$top</key><dict><key>z</key>\(reference(1))<key>root</key>\(reference(2))<key>list</key>\(reference(5))</dict>
      <key>$objects</key><array><string>$null</string>
      <dict><key>$class</key>\(reference(3))<key>n</key><integer>1</integer></dict>
      <dict><key>$class</key>\(reference(3))<key>n</key><integer>2</integer></dict>
      <dict><key>$classname</key><string>T</string></dict>
      <dict><key>$classname</key><string>NSArray</string></dict>
      <dict><key>$class</key>\(reference(4))<key>NS.objects</key><array>\(reference(2))\(reference(2))</array></dict>
      </array></dict></plist>
      """
  }

  @Test func topKeys() throws {
    let path = try scratch.file("a.plist", twoTops)
    func value(_ arguments: String...) throws -> (ArchiveValue, Stamp) {
      let run = Run(["convert", path, "-o", "-"] + arguments)
      #expect(run.code == 0, "\(run.error)")
      return (try ArchiveDecoder().decodeValue(from: run.output), try Stamp(of: run.output))
    }
    let (all, stamp) = try value()
    guard case .graph(let graph) = all else {
      Issue.record("no graph")
      return
    }
    #expect(graph.objects.count == 2 && stamp.typeName == "Value")
    #expect(graph.root.objectValue?.keys == ["z", "root", "list"])
    // With `--key`, the result leaves out objects that only other top-level keys refer to.
    let (one, oneStamp) = try value("--key", "root")
    let second = ArchiveValue.record(ModelRecord(typeName: "T", modelVersion: nil, fields: [("n", 2)]))
    #expect(one == .graph(ObjectGraph(objects: [second], root: .reference(0))) && oneStamp.typeName == "T")
    let (list, listStamp) = try value("--key", "list")
    #expect(list == .graph(ObjectGraph(objects: [second], root: [.reference(0), .reference(0)])))
    #expect(listStamp.typeName == "[T]" && listStamp.count == 2)
    Run("convert", path, "-o", "-", "--key", "none").expectFailure("a.plist: ", "z, root, list")
    Run("convert", Legacy.path("settings.plist"), "-o", "-", "--key", "name").expectFailure(
      "settings.plist: ", "a plain property list")
  }

  @Test func theOriginalIsNotOverwritten() throws {
    let path = try scratch.file("a.plist", Legacy.data("bookmarks.plist"))
    try FileManager.default.createSymbolicLink(atPath: scratch.path("link"), withDestinationPath: "a.plist")
    try FileManager.default.linkItem(atPath: path, toPath: scratch.path("hard"))
    for output in [
      path, scratch.path("link"), scratch.path("hard"), scratch.path("../\(scratch.url.lastPathComponent)/a.plist"),
    ] {
      Run("convert", path, "-o", output).expectFailure("is the same file as the input")
    }
    #expect(try scratch.data("a.plist") == Legacy.data("bookmarks.plist"))
  }

  @Test func failuresLeaveTheOldFile() throws {
    let output = try scratch.file("out", "old")
    Run("convert", try scratch.file("a.json", "{\"a\": 1}"), "-o", output).expectFailure("a.json: found JSON")
    Run("convert", try scratch.file("cut", Legacy.data("bookmarks.plist").dropLast(5)), "-o", output)
      .expectFailure("cut: ")
    Run("convert", scratch.path("missing"), "-o", output).expectFailure("missing")
    Run("convert", try scratch.file("empty", ""), "-o", output).expectFailure("empty: ")
    let archive = try scratch.file("a.strata", ArchiveEncoder().encode(ArchiveValue.null))
    Run("convert", archive, "-o", output).expectFailure("a.strata: ")
    Run("convert", Legacy.path("bookmarks.plist"), "-o", scratch.url.path).expectFailure("directory")
    Run("convert", Legacy.path("bookmarks.plist"), "-o", scratch.path("no/such")).expectFailure("no/such")
    let list = try scratch.file("list.plist", "<plist><array/></plist>")
    Run("convert", list, "-o", output, "--type", "T").expectFailure("list.plist: ", "array")
    Run("convert", list, "-o", output, "--model-version", "1").expectFailure("list.plist: ", "--type")
    Run("convert", Legacy.path("bookmarks.plist"), "-o", output, "--rename", "Bookmark.Folder=Folder")
      .expectFailure("no objects of the class Bookmark.Folder")
    Run("convert", "", "-o", output).expectFailure("empty")
    #expect(try scratch.data("out") == Data("old".utf8))
    #expect(try scratch.names.allSatisfy { !$0.hasPrefix(".") })
  }

  @Test func wrongUsage() {
    Run("convert").expectFailure(code: 64)
    Run("convert", "a").expectFailure(code: 64, "--output")
    for wrong in [
      ["--type", ""], ["--type", "T@3"], ["--model-version=-1"], ["--key", ""], ["--rename", "A"], ["--rename", "=B"],
      ["--rename", "A=B@2"], ["--rename", "A=B", "--rename", "A=C"], ["--jobs", "0"], ["--jobs", "many"],
      ["--report", "r.txt"],
    ] {
      Run(["convert", "a", "-o", "b"] + wrong).expectFailure(code: 64)
    }
    let file = Legacy.path("bookmarks.plist")
    for wrong in [["--jobs", "2"], ["--report", "r.json"], ["--dry-run"]] {
      Run(["convert", file, "-o", "-"] + wrong).expectFailure(code: 64, "a folder")
    }
  }

  @Test func decodeTellsWhatToDo() {
    Run("decode", Legacy.path("bookmarks.plist")).expectFailure("is a property list", "convert")
  }
}
