import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

struct LegacyInspectTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test(arguments: ["bookmarks.plist", "bookmarks-xml.plist"])
  func keyedArchives(name: String) throws {
    let run = Run("inspect", Legacy.path(name))
    #expect(run.code == 0 && run.error.isEmpty, "\(run.error)")
    let lines = run.text.split(separator: "\n")
    #expect(lines.contains("kind           keyed archive, \(name.contains("xml") ? "XML" : "binary")"))
    #expect(lines.contains("archiver       NSKeyedArchiver, version 100000"))
    #expect(lines.contains("top keys       root"))
    #expect(lines.contains("objects        14"))
    #expect(lines.contains("classes        Bookmarks.Folder  2  < NSObject"))
    #expect(lines.contains("               NSMutableArray    2  < NSArray < NSObject"))
    #expect(lines.contains("root: #0 Bookmarks.Folder@2"))
    #expect(lines.contains("      parent: → #0"))
    #expect(lines.contains("      added: 2013-04-03T14:00:00.25Z"))
  }

  @Test("inspect lists all classes and top-level keys of a keyed archive, even with long names")
  func longNames() throws {
    let name = String(repeating: "Long", count: 60)
    let text = try String(decoding: Legacy.data("bookmarks-xml.plist"), as: UTF8.self)
    let path = try scratch.file("long.plist", text.replacing("Bookmarks.Folder", with: name))
    #expect(Run("inspect", path).text.contains("\(name)  2  < NSObject\n"))
    let keys = (0..<30).map { "key\($0)" }
    let top = keys.map { "<key>\($0)</key><dict><key>CF$UID</key><integer>0</integer></dict>" }.joined()
    let archive =
      "<plist><dict><key>$archiver</key><string>A\u{9}\u{202E}B</string><key>$version</key><integer>100000</integer>"
      + "<key>$objects</key><array><string>$null</string></array><key>$top</key><dict>\(top)</dict></dict></plist>"
    let lines = Run("inspect", try scratch.file("top.plist", archive)).text.split(separator: "\n")
    #expect(lines.contains("top keys       " + keys.joined(separator: ", ")))
    #expect(lines.contains("archiver       A\\t\\u{202E}B, version 100000"))
  }

  @Test func boundedTrees() {
    #expect(!Run("inspect", Legacy.path("bookmarks.plist"), "--depth", "0").text.contains("title"))
    let few = Run("inspect", Legacy.path("everything.plist"), "--elements", "2").text
    #expect(few.contains("  itself: → #0") && few.contains("… 32 more") && !few.contains("text $null"))
  }

  @Test func propertyLists() {
    for (name, form) in [("settings.plist", "XML"), ("settings.bplist", "binary")] {
      let run = Run("inspect", Legacy.path(name))
      #expect(run.code == 0 && run.text.contains("kind           property list, \(form)\nroot           object\n"))
      #expect(run.text.contains("\n  $class: \"no class\"\n"))
      let line = Run("verify", Legacy.path(name)).text
      #expect(line.hasPrefix("intact  \(Legacy.path(name))  property list, \(form)  "), "\(line)")
    }
  }

  @Test(
    "inspect --json prints the recorded JSON for keyed archives and property lists",
    arguments: ["bookmarks", "everything", "settings"])
  func json(name: String) throws {
    let run = Run("inspect", "--json", Legacy.path(name + ".plist"))
    #expect(run.code == 0 && run.error.isEmpty)
    #expect(try run.text == String(decoding: Legacy.data(name + ".json"), as: UTF8.self))
    _ = try JSONReader().read(run.output)
    #expect(try Run("inspect", "--json", "-", input: Legacy.data(name + ".plist")).output == run.output)
  }

  @Test func sameInBothForms() throws {
    for (binary, xml) in [("bookmarks.plist", "bookmarks-xml.plist"), ("settings.bplist", "settings.plist")] {
      let texts = [binary, xml].map { Run("inspect", "--json", Legacy.path($0)).text }
      #expect(texts[0].replacing("\"form\": \"binary\"", with: "\"form\": \"XML\"") == texts[1])
    }
  }

  @Test(
    "inspect handles a chain of thousands of objects without stack overflow or unbounded output", .tags(.long),
    arguments: [Effort.rounds(2_000, long: 10_000)])
  func longLists(count: Int) throws {
    var list = PropertyList(objects: [], root: 0)
    func add(_ object: PropertyList.Object) -> Int {
      list.objects.append(object)
      return list.objects.count - 1
    }
    func dictionary(_ pairs: [(String, Int)]) -> Int {
      add(.dictionary(pairs.map { PropertyList.Entry(key: add(.string($0)), value: $1) }))
    }
    let (next, mark, type) = (add(.string("next")), add(.string("$class")), add(.uid(1)))
    var objects = [
      add(.string("$null")), dictionary([("$classname", add(.string("Node"))), ("$classes", add(.array([])))]),
    ]
    for place in 0..<count {
      let target = add(.uid(place == count - 1 ? 0 : UInt64(objects.count) + 1))
      objects.append(add(.dictionary([.init(key: mark, value: type), .init(key: next, value: target)])))
    }
    list.root = dictionary([
      ("$archiver", add(.string("NSKeyedArchiver"))), ("$version", add(.integer(100_000))),
      ("$objects", add(.array(objects))), ("$top", dictionary([("root", add(.uid(2)))])),
    ])
    let path = try scratch.file("chain.plist", PropertyListWriter().write(list))
    let json = Run("inspect", "--json", path)
    #expect(json.code == 0 && json.output.count < 300 * count)
    #expect(json.text.contains("\"$id\": \(count - 1)"))
    let text = Run("inspect", path, "--depth", "1000000")
    #expect(text.code == 0 && text.text.contains("#\(min(40, count)) Node"))
    #expect(Run("verify", path).code == 0)
  }

  /// Returns a keyed archive whose root has a name, and the given value for the key `odd`. `objects` are appended to the archive's objects.
  private static func archive(_ odd: String, _ objects: String...) -> String {
    func reference(_ uid: Int) -> String { "<dict><key>CF$UID</key><integer>\(uid)</integer></dict>" }
    return """
      <plist><dict><key>$archiver</key><string>NSKeyedArchiver</string><key>$version</key><integer>100000</integer>
      <key>$top</key><dict><key>root</key>\(reference(1))</dict><key>$objects</key><array><string>$null</string>
      <dict><key>$class</key>\(reference(2))<key>name</key><string>Phone</string><key>odd</key>\(odd)</dict>
      <dict><key>$classname</key><string>Device</string></dict>
      <dict><key>$classname</key><string>NSUUID</string></dict>
      <dict><key>$classname</key><string>NSDictionary</string></dict>
      <dict><key>$classname</key><integer>1</integer></dict>
      \(objects.joined())</array></dict></plist>
      """
  }

  /// An archive with an invalid object: the value of the key `odd`, the objects from the seventh on, and the expected output.
  struct Odd {
    let value: String
    let objects: [String]
    let shown: [String]
    let reason: String

    init(_ value: String, _ objects: [String], _ shown: [String], _ reason: String) {
      (self.value, self.objects, self.shown, self.reason) = (value, objects, shown, reason)
    }
  }

  static let oddities: [Odd] = {
    func reference(_ uid: Int) -> String { "<dict><key>CF$UID</key><integer>\(uid)</integer></dict>" }
    func object(_ type: Int, _ rest: String) -> String { "<dict><key>$class</key>\(reference(type))\(rest)</dict>" }
    let data = "<data>\(Data(repeating: 120, count: 28).base64EncodedString())</data>"
    return [
      Odd(
        reference(6), [object(3, "<key>NS.uuidbytes</key>\(data)")],
        ["  odd: #1 (invalid) NSUUID", "    NS.uuidbytes: data of 28 bytes"],
        "#1  a UUID is not 16 bytes long (at NS.uuidbytes)"),
      Odd(
        reference(77), [],
        ["  odd: #1 (invalid) null"], "#1  a reference names object 77, but the archive has only 6 objects"),
      Odd(
        reference(6), [object(5, "<key>title</key><string>T</string>")],
        ["  odd: #1 (invalid) object of 1 key", "    title: \"T\""], "#1  a class has no name"),
      Odd(
        reference(6), [object(99, "<key>title</key><string>T</string>")],
        ["  odd: #1 (invalid) object of 1 key", "    title: \"T\""], "#1  a reference names object 99"),
      Odd(
        reference(6), ["<dict><key>$thing</key><string>T</string></dict>"],
        ["  odd: #1 (invalid) object of 1 key", "    $thing: \"T\""],
        "#1  an object without “$class” has the reserved key $thing"),
      Odd(
        reference(6),
        [object(4, "<key>NS.keys</key><array><string>a</string></array><key>NS.objects</key><array></array>")],
        ["  odd: #1 (invalid) NSDictionary", "    NS.keys: array of 1 element", "      [0] \"a\""],
        "#1  a dictionary has 1 keys but 0 values"),
      Odd(
        reference(6), [object(2, "<key>MTLModelVersion</key><string>one</string><key>name</key><string>N</string>")],
        ["  odd: #1 (invalid) Device", "    MTLModelVersion: \"one\"", "    name: \"N\""],
        "#1  a model version must be a nonnegative integer"),
      Odd(
        reference(6), [object(2, "<key>a</key><string>A</string><key>a</key><string>B</string>")],
        ["  odd: #1 (invalid) array of 6 elements", "    [4] \"A\"", "    [5] \"B\""],
        "#1  a dictionary has a duplicate key (at a)"),
    ]
  }()

  @Test(
    "inspect marks an invalid object and shows the rest; verify, decode and convert reject the file",
    arguments: oddities)
  func oddObjects(odd: Odd) throws {
    let path = try scratch.file("odd.plist", Self.archive(odd.value, odd.objects.joined()))
    let run = Run("inspect", path, "--depth", "9")
    #expect(run.code == 0 && run.error.isEmpty, "\(run.error)")
    let lines = run.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    #expect(lines.contains("root: #0 Device") && lines.contains("  name: \"Phone\""), "\(run.text)")
    for line in odd.shown { #expect(lines.contains(line), "\(line) in \(run.text)") }
    // If a dictionary has duplicate keys, its class is shown as one of its values and counts as a second invalid object.
    let count = odd.reason.contains("duplicate") ? "2 objects are" : "1 object is"
    #expect(
      run.text.contains("\n\n\(count) invalid, so verify and convert reject the file:\n  \(odd.reason)"), "\(run.text)")
    let json = try JSONReader().read(Run("inspect", "--json", path).output)
    #expect(json["odd"]?.arrayValue?.first?["object"] == 1)
    let found = json["odd"]?.arrayValue?.first?["reason"]?.stringValue
    #expect(found?.hasPrefix(odd.reason.dropFirst(4)) == true)
    #expect(json["top"]?["root"]?["odd"]?["$id"] == 1)
    #expect(Run("verify", path).code == 1)
    Run("decode", path).expectFailure("odd.plist")
    Run("convert", path, "-o", scratch.path("odd.strata")).expectFailure("odd.plist")
  }

  @Test(arguments: [
    ("a.plist", "{\"a\": 1}", "JSON"), ("b.plist", "{ a = 1; }", "OpenStep"), ("c.plist", "just text", "text"),
    ("d.plist", "SQLite format 3\0", "SQLite"), ("e.plist", "\u{0}\u{1}\u{2}\u{3}", "00 01 02 03"),
    ("f.plist", "bplist15abc", "a version other than 00"), ("g.plist", "<html></html>", "HTML"),
    ("h.plist", " \n", "whitespace"),
  ])
  func otherFormats(name: String, content: String, found: String) throws {
    let path = try scratch.file(name, content)
    Run("inspect", path).expectFailure("\(name): found ", found, "where an archive")
    Run("inspect", "--json", path).expectFailure("\(name): found ", found)
    let run = Run("verify", path)
    #expect(run.code == 1 && run.text.hasPrefix("unsupported  \(path)  found "))
  }

  @Test func gzipFilesThatAreNoArchives() throws {
    let bytes: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    Run("inspect", try scratch.file("a.gz", Data(bytes))).expectFailure("a.gz: ", "gzip")
  }

  @Test(
    "A truncated or corrupted keyed archive gives a one-line error or valid JSON", .tags(.long))
  func damage() throws {
    let step = Effort.rounds(20, long: 8)
    let whole = try Legacy.data("bookmarks.plist")
    // The random start lets several runs together cover every byte. KeyedDamageTests tests the reader itself with all bytes.
    for length in stride(from: Int.random(in: 0..<step), to: whole.count, by: step) {
      Run("inspect", "--json", "-", input: whole.prefix(length)).expectFailure("standard input: ")
    }
    for place in stride(from: Int.random(in: 0..<step), to: whole.count, by: step) {
      for mask: UInt8 in [0x01, 0x80] {
        var data = whole
        data[place] ^= mask
        let run = Run("inspect", "--json", "-", input: data)
        if run.code == 0 {
          #expect(throws: Never.self, "\(place)") { try JSONReader().read(run.output) }
        } else {
          run.expectFailure("standard input: ")
        }
      }
    }
  }

  @Test func keyedArchivesThatAreBroken() throws {
    func reason(_ text: String) throws -> Run {
      Run("inspect", try scratch.file("x.plist", "<plist><dict>\(text)</dict></plist>"))
    }
    let archiver = "<key>$archiver</key><string>A</string><key>$version</key><integer>100000</integer>"
    try reason(archiver).expectFailure("x.plist: ", "$objects is missing")
    try reason(archiver.replacing("100000", with: "200000") + "<key>$objects</key><array/>").expectFailure("200000")
    let top = "<key>$top</key><dict><key>root</key><dict><key>CF$UID</key><integer>7</integer></dict></dict>"
    let missing = try reason(archiver + "<key>$objects</key><array/>" + top)
    #expect(missing.code == 0 && missing.text.contains("object 7"))
    // Any property list may contain just one of the four keys, so this file is not a broken keyed archive.
    #expect(try reason("<key>$version</key><integer>1</integer>").code == 0)
  }
}
