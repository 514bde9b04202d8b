import Foundation
import StrataCore
import Testing

private class Beast: VersionedModel, ModelHierarchy {
  var name = ""
  class var schema: ModelSchema { beast }
  private static let beast = ModelSchema(
    Beast.self, name: "Beast", version: 1, fields: [FieldInfo("name", String.self, json: "label", default: { "" })])
  class var subclasses: [any VersionedModel.Type] { [Bird.self] }
  init() {}
  required init(fields reader: inout ArchiveReader) throws { name = try reader.field(0, default: "") }
  func encodeFields(to writer: inout ArchiveWriter) throws { try writer.field(0, name) }
}

private final class Bird: Beast {
  var wings = 2
  override class var schema: ModelSchema { bird }
  private static let bird = ModelSchema(
    Bird.self, name: "Bird", version: 1, superclass: Beast.self,
    fields: [FieldInfo("wings", Int.self, json: "parts.wings", default: { 2 })])
  required init(fields reader: inout ArchiveReader) throws {
    try super.init(fields: &reader)
  }
}

@Suite("JSON: rejected unknown keys")
struct JSONUnknownKeyTests {
  private func error(_ json: String) -> ArchiveError? {
    #expect(throws: ArchiveError.self) {
      try JSONAdapter<Beast>(unknownKeys: .refuse).decode(Data(json.utf8))
    }
  }

  @Test("The error for a subclass's key names the subclass and suggests ways to read it")
  func subclass() {
    let error = error(#"{"label": "a", "parts": {"wings": 2}}"#)
    #expect(error?.code == .unknownKey && error?.typeName == "Beast" && error?.codingPath == [.key("parts")])
    #expect(
      error?.reason.hasSuffix(
        "the JSON contains a key that Bird reads, but its superclass Beast does not; read the document as Bird, use a "
          + "JSONCluster for both classes, or pass unknownKeys: .ignore") == true)
  }

  @Test("The error for a key of no class suggests mapping or ignoring the key")
  func nobody() {
    let error = error(#"{"label": "a", "other": 1}"#)
    #expect(
      error?.reason.hasSuffix(
        "the JSON contains a key that no field of Beast reads; map the key to a field, or pass unknownKeys: .ignore; for a "
          + "key of a subclass, read the document as the subclass, or use a JSONCluster") == true)
    #expect(error?.codingPath == [.key("other")])
  }
}
