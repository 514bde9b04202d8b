import Foundation
import StrataCore
import StrataTestSupport
import Testing

struct RoundTripTests {
  @Test(arguments: [
    "null", "true", "0", "-9223372036854775808", "18446744073709551615", "-18446744073709551616",
    "340282366920938463463374607431768211455", "1.0", "1e+30", "0.1", "\"\"", "\"é\\n🙏\"", "[]", "{}",
    "[1,1.0,[true,null],{\"b\":1,\"a\":[]}]",
  ])
  func documentsComeBack(text: String) {
    let archive = Run("encode", "-", "-o", "-", input: Data(text.utf8))
    #expect(archive.code == 0, "\(archive.error)")
    let back = Run("decode", "-", input: archive.output)
    #expect(back.text == text + "\n", "\(back.error)")
  }

  @Test func recordsKeepTypeAndVersion() throws {
    let scratch = try Scratch()
    let input = try scratch.file("in.json", #"{"b": 1, "a": [2, {"c": null}]}"#)
    let archive = scratch.path("a.strata")
    #expect(Run("encode", input, "-o", archive, "--type", "Thing", "--model-version", "7").code == 0)
    let stamp = try Stamp(of: scratch.data("a.strata"))
    #expect(stamp.typeName == "Thing" && stamp.modelVersion == 7 && stamp.count == 1)
    #expect(Run("decode", archive).text == #"{"b":1,"a":[2,{"c":null}]}"# + "\n")
    let pretty = Run("decode", archive, "--pretty", "-o", scratch.path("out.json"))
    #expect(pretty.code == 0 && pretty.output.isEmpty)
    let text = try String(decoding: scratch.data("out.json"), as: UTF8.self)
    #expect(text.hasPrefix("{\n  \"b\": 1,"))
    #expect(try scratch.names == ["a.strata", "in.json", "out.json"])
  }

  @Test func streamsDecodeToArrays() throws {
    let scratch = try Scratch()
    let file = try scratch.file("s.strata", Streams.stream([["a", 1], [[]], []]))
    #expect(Run("decode", file).text == "[\"a\",1,[]]\n")
    #expect(Run("decode", file, "--pretty").text == "[\n  \"a\",\n  1,\n  []\n]\n")
    #expect(Run("decode", try scratch.file("e.strata", Streams.stream([]))).text == "[]\n")
    let data = try scratch.data("s.strata")
    #expect(Run("decode", "-", input: data).text == "[\"a\",1,[]]\n")
  }
}
