import Foundation
import StrataCore
import Testing

@Suite("strata decode: graphs and other formats")
struct DecodeTests {
  private final class Folder: DescribedModel {
    var name: String
    var file: Document?
    init(name: String, file: Document?) { (self.name, self.file) = (name, file) }
    static let fields = Fields(
      Folder.self, name: "DecodeFolder", version: 1, Field("name", \.name), Field("file", \.file),
      make: { Folder(name: $0, file: $1) })
  }

  private final class Document: DescribedModel {
    var name: String
    weak var folder: Folder?
    init(name: String, folder: Folder?) { (self.name, self.folder) = (name, folder) }
    static let fields = Fields(
      Document.self, name: "DecodeDocument", version: 1, Field("name", \.name),
      Field("folder", \.folder, archive: .conditional), make: { Document(name: $0, folder: $1) })
  }

  @Test("decode writes a reference to an enclosing object as null, like jsonData", arguments: [false, true])
  func weakReference(isPretty: Bool) throws {
    let folder = Folder(name: "a", file: nil)
    folder.file = Document(name: "b", folder: folder)
    let run = Run(["decode", "-"] + (isPretty ? ["--pretty"] : []), input: try ArchiveEncoder().encode(folder))
    #expect(run.code == 0)
    #expect(try run.output == folder.jsonData(isPretty: isPretty) + Data("\n".utf8))
    #expect(
      run.error
        == "strata: 1 reference to an enclosing object was written as null because JSON cannot represent cycles\n")
  }

  @Test("decode prints no warning for a graph without cycles")
  func tree() throws {
    let run = Run(
      "decode", "-", input: try ArchiveEncoder().encode(Folder(name: "a", file: Document(name: "b", folder: nil))))
    #expect(run.code == 0 && run.error.isEmpty)
  }

  @Test("decode names the format of a file that is not an archive, and suggests encode for JSON")
  func others() {
    Run("decode", "-", input: Data(#"{"a": 1}"#.utf8)).expectFailure(
      "found JSON", "convert the document to an archive with strata encode")
    Run("decode", "-", input: Data("hello".utf8)).expectFailure("found text where an archive")
  }

  @Test("encode reports the location of a duplicate key, and keeps the last value with --duplicate-keys last")
  func duplicateKeys() throws {
    let document = Data("{\"a\": {\"b\": [1],\n \"c\": 2, \"b\": 3}}".utf8)
    let refused = Run("encode", "-", "-o", "-", input: document)
    #expect(refused.code != 0 && refused.output.isEmpty)
    #expect(refused.error.contains("a.b") && refused.error.contains("line 2, column 11"), "\(refused.error)")
    let taken = Run("encode", "-", "-o", "-", "--duplicate-keys", "last", input: document)
    #expect(taken.code == 0, "\(taken.error)")
    #expect(try ArchiveDecoder().decodeValue(from: taken.output) == ["a": ["b": 3, "c": 2]])
  }
}
