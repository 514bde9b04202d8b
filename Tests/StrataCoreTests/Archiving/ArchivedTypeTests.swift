import Foundation
import StrataCore
import Testing

private struct Slip: DescribedModel, Equatable {
  var text = ""
  static let fields = Fields(
    Slip.self, name: "FormatNote", version: 2, Field("text", \.text, default: ""), make: { Slip(text: $0) })
}

private struct StrangeSlip: DescribedModel {
  var text = ""
  static let fields = Fields(
    StrangeSlip.self, name: "FormatOther", version: 7, Field("text", \.text, default: ""),
    make: { StrangeSlip(text: $0) })
}

/// An older model, whose archives other types don't accept.
private struct OlderSlip: DescribedModel {
  var text = ""
  static let fields = Fields(
    OlderSlip.self, name: "FormatOlder", version: 1, Field("text", \.text, default: ""), make: { OlderSlip(text: $0) })
}

private struct PlainNote: Codable {
  var text = ""
}

private final class Cat: DescribedModel {
  let name: String
  init(name: String) { self.name = name }
  static let fields = Fields(
    Cat.self, name: "TypeCat", version: 1, Field("name", \.name, default: ""), make: { Cat(name: $0) })
}

private final class Pot: DescribedModel {
  let name: String
  init(name: String) { self.name = name }
  static let fields = Fields(
    Pot.self, name: "TypePot", version: 9, Field("name", \.name, default: ""), make: { Pot(name: $0) })
}

@Suite("Errors for archives of another type")
struct ArchivedTypeTests {
  @Test("Decoding an archive of another type names both types in the error")
  func types() throws {
    func message<T: Archivable>(_ type: T.Type, _ data: Data) -> String? {
      #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode(type, from: data) }?.reason
    }
    let one = try ArchiveEncoder().encode(Slip(text: "a"))
    let many = try ArchiveEncoder().encode([Slip(text: "a")])
    let text = try ArchiveEncoder().encode("text")
    #expect(
      message(StrangeSlip.self, one)
        == "found a record of type FormatNote where the type FormatOther is expected; if the type was renamed, add its "
        + "former name"
    )
    #expect(
      message([Slip].self, one)
        == "the archive contains a value of type FormatNote, but the type [FormatNote] is expected")
    #expect(
      message(Slip.self, many)
        == "the archive contains a value of type [FormatNote], but the type FormatNote is expected")
    #expect(
      message([StrangeSlip].self, one)
        == "the archive contains a value of type FormatNote, but the type [FormatOther] is expected")
    #expect(
      message(Set<String>.self, many)
        == "the archive contains a value of type [FormatNote], but the type Set<String> is expected")
    #expect(message(Int.self, text) == "the archive contains a value of type String, but the type Int is expected")
    #expect(
      message(Slip.self, text) == "the archive contains a value of type String, but the type FormatNote is expected")
    let codable = #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode(PlainNote.self, from: text) }
    #expect(codable?.reason == "the archive contains a value of type String, but the type PlainNote is expected")
    let inner = #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode([StrangeSlip].self, from: many) }
    #expect(inner?.code == .unknownType && inner?.codingPath == [.index(0)])
    #expect(inner?.reason.contains("FormatNote where the type FormatOther is expected") == true)
  }

  @Test("A higher version of a different model throws unknownType, not newerModel")
  func versions() throws {
    let data = try ArchiveEncoder().encode(StrangeSlip(text: "a"))
    let error = #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode(OlderSlip.self, from: data) }
    #expect(error?.code == .unknownType)
    #expect(
      error?.reason
        == "found a record of type FormatOther where the type FormatOlder is expected; if the type was renamed, add "
        + "its former name or update this program")
    let newer = ModelRecord(typeName: "FormatNote", modelVersion: 3)
    let refused = #expect(throws: ArchiveError.self) {
      try ArchiveDecoder().decode([Slip].self, from: ArchiveEncoder().encode([newer].map { ArchiveValue.record($0) }))
    }
    #expect(refused?.code == .newerModel)
  }

  @Test("Decoding objects of another class names both classes in the error")
  func classes() throws {
    let one = Cat(name: "a")
    let shared = try ArchiveEncoder().encode([one, one])
    let error = #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode([Pot].self, from: shared) }
    #expect(
      error?.reason.contains("TypeCat") == true && error?.reason.contains("TypePot") == true,
      "\(error?.description ?? "")")
    let single = #expect(throws: ArchiveError.self) {
      try ArchiveDecoder().decode(Pot.self, from: ArchiveEncoder().encode(one))
    }
    #expect(
      single?.reason.contains("TypeCat where") == true && single?.reason.contains("TypePot is expected") == true,
      "\(single?.description ?? "")")
  }

  @Test("Reading a stream of another type names both types in the error")
  func streams() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: url) }  // A temporary file that remains is harmless.
    var writer = try ArchiveStreamWriter<String>(creating: url)
    try writer.append("text")
    try writer.finish()
    let error = #expect(throws: ArchiveError.self) {
      for result in ArchiveSequence(Slip.self, from: url).results { _ = try result.get() }
    }
    #expect(error?.reason == "the archive contains a value of type String, but the type FormatNote is expected")
  }
}
