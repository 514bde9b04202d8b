import Foundation
import StrataCore
import StrataLegacy
import Testing

private struct Slip: DescribedModel, Equatable {
  var text = ""
  static let fields = Fields(
    Slip.self, name: "FormatNote", version: 2, Field("text", \.text, default: ""), make: { Slip(text: $0) })
}

private struct PlainSlip: Codable {
  var text = ""
}

@Suite("Errors for data in another format")
struct OtherFormatTests {
  private static let json = "the data looks like JSON; read it with init(fromJSON:), JSONReader or JSONAdapter"
  private static let list = "the data looks like a property list; read it with KeyedArchive or PropertyListReader"

  private static let xml =
    "the data looks like XML; if it is a property list, read it with KeyedArchive or PropertyListReader"

  static let cases: [(String, Data, String)] = [
    ("object", Data(#"{"text": "secret"}"#.utf8), json), ("array", Data("[]".utf8), json),
    ("space first", Data("\r\n\t {\"text\": 1}".utf8), json), ("one bracket", Data("[".utf8), json),
    ("BOM", Data([0xEF, 0xBB, 0xBF]) + Data("{}".utf8), json), ("string", Data(#""text""#.utf8), json),
    ("null", Data("null".utf8), json), ("true", Data("true".utf8), json),
    ("binary list", Data("bplist00abc".utf8), list),
    ("XML list", Data(#"<?xml version="1.0"?><plist version="1.0"></plist>"#.utf8), xml),
    ("XML list without declaration", Data("<!DOCTYPE plist>".utf8), xml),
  ]

  @Test("Every way to open JSON, XML or a property list as an archive names the right reader", arguments: cases)
  func formats(name: String, data: Data, advice: String) throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().uuidString)")
    try data.write(to: url)
    defer { try? FileManager.default.removeItem(at: url) }  // A temporary file that remains is harmless.
    let roads: [(String, () throws -> Void)] = [
      ("stamp", { _ = try Stamp(of: data) }),
      ("decode", { _ = try ArchiveDecoder().decode(Slip.self, from: data) }),
      ("file", { _ = try ArchiveDecoder().decode(Slip.self, from: url) }),
      ("Codable", { _ = try ArchiveDecoder().decode(PlainSlip.self, from: data) }),
      ("value", { _ = try ArchiveDecoder().decodeValue(from: data) }),
      ("upgrade", { _ = try ArchiveUpgrader(Slip.self).upgrade(data) }),
      ("sequence", { for result in ArchiveSequence(Slip.self, from: url).results { _ = try result.get() } }),
      (
        "merge",
        {
          var note = Slip()
          try note.merge(.archive(data))
        }
      ),
    ]
    for (road, run) in roads {
      let error = #expect(throws: ArchiveError.self, "\(road)") { try run() }
      #expect(error?.code == .notAnArchive, "\(road)")
      #expect(error?.reason.contains(advice) == true, "\(road): \(error?.description ?? "")")
    }
  }

  @Test(
    "Data of an unrecognized format is reported as missing the gzip header",
    arguments: ["hello", "nothing", "-", "12", "2019-03-04", "{ a = 1; }", "<html>", "nullable", "%PDF-1.7", "bplis"])
  func others(text: String) {
    let error = #expect(throws: ArchiveError.self) { try Stamp(of: Data(text.utf8)) }
    #expect(error?.reason == "the data is not an archive: the gzip header is missing")
  }

  @Test("Reading an archive as JSON, or JSON as a keyed archive, names the actual format")
  func backwards() throws {
    let data = try ArchiveEncoder().encode(Slip(text: "a"))
    let text = #expect(throws: ArchiveError.self) { try Slip(fromJSON: data) }
    #expect(text?.code == .invalidJSON)
    #expect(
      text?.reason.contains("the data is compressed with gzip; if it is an archive, " + "read it with ArchiveDecoder")
        == true,
      "\(text?.reason ?? "")")
    let keyed = #expect(throws: ArchiveError.self) { try KeyedArchive(data) }
    #expect(keyed?.code == .notAnArchive)
    let json = #expect(throws: ArchiveError.self) { try KeyedArchive(Data("{}".utf8)) }
    #expect(json?.reason.contains("JSON") == true, "\(json?.reason ?? "")")
  }
}
