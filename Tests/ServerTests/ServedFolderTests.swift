import ArgumentParser
import Foundation
import StrataCore
import StrataRemote
import StrataTestSupport
import Testing

@testable import StrataServer

@Suite("Served folders")
struct ServedFolderTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func served(write: Bool = true) throws -> Served {
    let folder = try ServedFolder(scratch.url.path)
    return try Served(folder.lists.map { ($0.name, try JSONWriter().write($0.json)) }, storage: write ? folder : nil)
  }

  @Test func reading() throws {
    _ = try scratch.file("b.json", #"[{"id": 1}]"#)
    _ = try scratch.file("a.json", #"{"a": [{"id": "x"}, {"id": "y"}]}"#)
    _ = try scratch.file(".hidden.json", "x")
    _ = try scratch.file("README.md", "x")
    _ = try scratch.file("empty.json", "[ ]")
    let lists = try ServedFolder(scratch.url.path + "/").lists
    #expect(lists.map(\.name) == ["a", "b", "empty"])
    #expect(lists.map { $0.records.map(\.id) } == [["x", "y"], ["1"], []])
    let time = try FileManager.default.attributesOfItem(atPath: scratch.path("a.json"))[.modificationDate] as? Date
    let record = try #require(lists.first?["x"])
    #expect(abs(record.modified.timeIntervalSince(try #require(time))) < 0.01)
  }

  @Test(
    "A file without a valid list of records is reported by name, without its values",
    arguments: [
      ("", "empty"), ("{", "line 1"), ("5", "an integer; an array"), ("{}", "an object; an array"),
      (#"{"b": []}"#, "under the name of the file"), (#"{"a": [], "b": 1}"#, "nothing else"),
      (#"{"a": {}}"#, "an array"),
      ("[5]", "index 0, the record is an integer"), (#"[{"id": 1}, {}]"#, "index 1, the record has no id"),
      (#"[{"id": null}]"#, "no id"), (#"[{"id": true}]"#, "no id"), (#"[{"id": ""}]"#, "no id"),
      (#"[{"id": [1]}]"#, "no id"),
      (#"[{"id": "secret"}, {"id": 2}, {"id": "secret"}]"#, "indices 0 and 2 have the same id"),
      (#"[{"id": 1}, {"id": "1"}]"#, "same id"), (#"[{"id": 1, "id": 2}]"#, "duplicate key"), ("[]x", "line 1"),
    ])
  func refusals(text: String, fragment: String) throws {
    _ = try scratch.file("a.json", text)
    let message = message(of: scratch.url.path)
    #expect(message.contains("a.json: ") && message.contains(fragment) && !message.contains("secret"), "\(message)")
  }

  @Test func wrongFolders() throws {
    #expect(message(of: scratch.url.path).contains("no file NAME.json"))
    #expect(message(of: scratch.path("none")).contains("none: is no folder"))
    #expect(message(of: try scratch.file("file", "[]")).contains("file: is no folder"))
    try FileManager.default.createDirectory(atPath: scratch.path("a.json"), withIntermediateDirectories: true)
    #expect(message(of: scratch.url.path).contains("directory"))
  }

  @Test(
    "Invalid arguments are rejected",
    arguments: [
      ["--port", "70000"], ["--port=-1"], ["--latency=-1"], ["--fail", "1.1"], ["--fail=-0.1"], ["--fail", "nan"],
      ["--max-age=-1"], ["--page-size", "0"], ["--token", ""], ["--token", "a b"], ["--token", "ä"],
      ["b"],
    ])
  func wrongUsage(arguments: [String]) {
    let error = #expect(throws: (any Error).self) { try ServeCommand.parse(["a"] + arguments) }
    #expect(error.map { ServeCommand.exitCode(for: $0) } == .validationFailure)
  }

  /// Returns the message of the error that is thrown when the folder is read.
  private func message(of folder: String) -> String {
    let error = #expect(throws: ServeError.self) { try ServedFolder(folder) }
    return error?.message ?? ""
  }

  @Test("Changes are written in the file's format before the response")
  func writing() throws {
    _ = try scratch.file("a.json", #"[{"id":1,"n":9007199254740993,"é":null}]"#)
    _ = try scratch.file("b.json", "{\n\"b\": [{\"id\": \"x\"}]}\n")
    let server = try served()
    let made = try server.send("POST", "/a", #"{"z":1,"y":[]}"#)
    #expect(made.status == 201, "\(made.text)")
    #expect(
      try scratch.data("a.json")
        == Data((#"[{"id":1,"n":9007199254740993,"é":null},{"id":2,"z":1,"y":[]}]"# + "\n").utf8))
    #expect(try server.send("DELETE", "/a/1").status == 204)
    #expect(try server.send("PATCH", "/a/2", #"{"y":null}"#).status == 200)
    #expect(try scratch.data("a.json") == Data("[{\"id\":2,\"z\":1}]\n".utf8))
    #expect(try server.send("PUT", "/b/w", #"{"k":true}"#).status == 201)
    let text = """
      {
        "b": [
          {
            "id": "x"
          },
          {
            "id": "w",
            "k": true
          }
        ]
      }

      """
    #expect(try scratch.data("b.json") == Data(text.utf8))
    #expect(try scratch.names == ["a.json", "b.json"])
    #expect(try ServedFolder(scratch.url.path).lists.map { $0.records.map(\.id) } == [["2"], ["x", "w"]])
  }

  @Test("Files are not written without --write")
  func keeping() throws {
    _ = try scratch.file("a.json", "[]")
    #expect(try served(write: false).send("POST", "/a", "{}").status == 201)
    #expect(try scratch.data("a.json") == Data("[]".utf8))
  }

  @Test("A change by another program is kept, and the request fails")
  func othersWho() throws {
    _ = try scratch.file("a.json", #"[{"id":1}]"#)
    let server = try served()
    #expect(try server.send("POST", "/a", "{}").status == 201)
    _ = try scratch.file("a.json", #"[{"id":1},{"id":2},{"id":3}]"#)
    try server.send("POST", "/a", "{}").expectProblem(500, "another program")
    #expect(try scratch.data("a.json") == Data(#"[{"id":1},{"id":2},{"id":3}]"#.utf8))
    #expect(try server.ids("/a") == ["1", "2"])
    try FileManager.default.removeItem(atPath: scratch.path("a.json"))
    try server.send("DELETE", "/a/1").expectProblem(500)
    #expect(try scratch.names.isEmpty)
  }
}
