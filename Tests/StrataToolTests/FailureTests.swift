import Foundation
import StrataCore
import StrataTestSupport
import Testing

struct FailureTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test(arguments: ["decode", "inspect"])
  func unreadableArchives(command: String) throws {
    Run(command, scratch.path("missing")).expectFailure("missing", "No such file")
    Run(command, scratch.url.path).expectFailure("directory")
    Run(command, try scratch.file("empty", "")).expectFailure("empty: ", "because it is empty")
    Run(command, try scratch.file("text", "no archive at all"))
      .expectFailure("text: ", "found text where an archive")
  }

  @Test(
    "encode rejects a document with a duplicate key and writes no archive",
    arguments: [
      #"{"a": 1, "a": 2}"#, #"[{"b": {"c": 1, "d": 2, "c": 1}}]"#, #"{"a": 1, "\u0061": 2}"#,
    ])
  func duplicateKeys(_ text: String) throws {
    let scratch = try Scratch()
    let archive = scratch.path("a.strata")
    Run("encode", "-", "-o", archive, "--type", "T", "--model-version", "1", input: Data(text.utf8))
      .expectFailure("duplicate key")
    #expect(!FileManager.default.fileExists(atPath: archive))
  }

  @Test func stampsOfUnreadableArchives() throws {
    Run("inspect", "--stamp", scratch.path("missing")).expectFailure("missing")
    Run("inspect", "--stamp", try scratch.file("empty", "")).expectFailure("empty: ")
    Run("inspect", "--stamp", try scratch.file("text", "no archive at all")).expectFailure("text: ")
  }

  @Test func newerFormats() throws {
    var bytes = [UInt8](try ArchiveEncoder().encode(ArchiveValue.null))
    // The byte of the format version follows the gzip header, the length of the extra field and the head of the subfield.
    #expect(bytes[16] == 1)
    bytes[16] = 2
    // The header's checksum covers the format version, so it must be updated.
    let length = try GzipHeader(at: 0, in: ArchiveEncoder().encode(ArchiveValue.null).bytes, fileOffset: 0).length
    let crc = crc32(bytes[..<(length - 2)])
    bytes[length - 2] = UInt8(truncatingIfNeeded: crc)
    bytes[length - 1] = UInt8(truncatingIfNeeded: crc >> 8)
    let file = try scratch.file("new.strata", Data(bytes))
    Run("decode", file).expectFailure("new.strata: ", "format version 2")
    let run = Run("verify", file)
    #expect(run.code == 1 && run.text.contains("format version 2"))
  }

  @Test func failuresLeaveTheOldFile() throws {
    let output = try scratch.file("out", "old")
    Run("encode", try scratch.file("bad.json", "{\"a\": 1,}"), "-o", output).expectFailure("bad.json: line 1")
    Run("encode", try scratch.file("empty.json", ""), "-o", output).expectFailure("empty.json: ")
    Run("encode", try scratch.file("list.json", "[]"), "-o", output, "--type", "T")
      .expectFailure("list.json: ", "object")
    let archive = try ArchiveEncoder().encode(ArchiveValue.string(String(repeating: "abc", count: 99)))
    Run("decode", try scratch.file("cut", archive.dropLast(3)), "-o", output).expectFailure("cut: ")
    // JSON cannot represent NaN.
    let nan = try ArchiveEncoder().encode(ArchiveValue.array([1, .double(.nan)]))
    Run("decode", try scratch.file("nan", nan), "-o", output).expectFailure("nan: ")
    #expect(try scratch.data("out") == Data("old".utf8))
    #expect(try scratch.names == ["bad.json", "cut", "empty.json", "list.json", "nan", "out"])
  }

  @Test func unwritableOutput() throws {
    let input = try scratch.file("in.json", "1")
    Run("encode", input, "-o", scratch.path("no/such/file")).expectFailure("no/such/file")
    Run("encode", input, "-o", scratch.url.path).expectFailure("directory")
    #expect(try scratch.names == ["in.json"])
  }

  @Test("An output path with a trailing slash is rejected, and no file is written")
  func foldersInPlaceOfFiles() throws {
    let json = try scratch.file("in.json", #"{"a": 1}"#)
    let archive = try scratch.file("in.strata", ArchiveEncoder().encode(ArchiveValue.object(ArchiveObject())))
    let list = try scratch.file("in.plist", Legacy.data("bookmarks.plist"))
    _ = try scratch.file("old", "old")
    let before = try scratch.names
    for name in ["new/", "old/", "new//", "in.json/"] {
      let output = scratch.path("") + "/" + name
      Run("encode", json, "-o", output).expectFailure(name, "folder")
      Run("decode", archive, "-o", output).expectFailure(name, "folder")
      Run("convert", list, "-o", output).expectFailure(name, "folder")
      Run("merge", "--local", json, "--server", json, "-o", output).expectFailure(code: 2, name, "folder")
    }
    #expect(try scratch.names == before)
    #expect(try scratch.data("old") == Data("old".utf8))
  }

  @Test func wrongUsage() {
    Run("encode", "a.json").expectFailure(code: 64, "--output")
    Run("encode", "a.json", "-o", "b", "--model-version", "1").expectFailure(code: 64, "--type")
    Run("encode", "a.json", "-o", "b", "--type", "T", "--model-version=-1").expectFailure(code: 64)
    Run("encode", "a.json", "-o", "b", "--type", "T@3").expectFailure(code: 64)
    Run("decode").expectFailure(code: 64)
    Run("inspect", "a", "b").expectFailure(code: 64)
    Run("inspect", "a", "--depth", "deep").expectFailure(code: 64)
    Run("frobnicate").expectFailure(code: 64)
  }

  @Test func help() {
    for arguments in [[], ["--help"], ["tour", "--help"]] {
      let run = Run(arguments)
      #expect(run.code == 0 && run.error.isEmpty && run.text.contains("USAGE: strata"))
    }
  }

  private func crc32(_ bytes: some Sequence<UInt8>) -> UInt32 {
    ~bytes.reduce(~0) { crc, byte in
      (0..<8).reduce(crc ^ UInt32(byte)) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
    }
  }
}
