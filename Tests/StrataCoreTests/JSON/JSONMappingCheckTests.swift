import Foundation
import StrataCore
import StrataTestSupport
import Testing

private struct Two: DescribedModel, Equatable {
  var count = 0
  var text: String?
  static let fields = Fields(
    Two.self, name: "CheckTwo", version: 1, Field("count", \.count, default: 0), Field("text", \.text),
    make: { Two(count: $0, text: $1) })
}

/// A model with two fields that have the same path in JSON.
private struct Twins: DescribedModel, Equatable {
  var left = 0
  var right = 0
  static let fields = Fields(
    Twins.self, name: "CheckTwins", version: 1, Field("left", \.left, json: "n", default: 0),
    Field("right", \.right, json: "n", default: 0), make: { Twins(left: $0, right: $1) })
}

@Suite("JSON: creating an adapter validates its mapping")
struct JSONMappingCheckTests {
  private func problems(_ mapping: JSONMapping<Two>) -> [String] {
    do {
      _ = try JSONAdapter(mapping)
      return []
    } catch { return ArchiveError.wrap(error).all.map { "\($0.code.rawValue) \($0.pathDescription)" } }
  }

  @Test("Replacement values for absent and null must be decodable as the field's type")
  func substitutes() {
    #expect(problems(["count": .path("n").missing("x")]) == ["invalidMapping count"])
    #expect(problems(["count": .path("n").missing(1.5)]) == ["invalidMapping count"])
    #expect(problems(["count": .path("n").null(.value("x"))]) == ["invalidMapping count"])
    #expect(problems(["count": .path("n").null(.value(.null))]) == ["invalidMapping count"])
    #expect(problems(["count": .path("n").missing(1).null(.value(2)), "text": .path("t").missing(.null)]) == [])
    #expect(problems(["text": .path("t").missing(3), "count": .path("n").missing("x")]).count == 2)
  }

  @Test("A path with an accidental empty key throws invalidMapping; an explicit empty key is allowed")
  func emptyKeys() {
    for path in ["a..b", ".a", "a.", "a[0]..b"] as [ValuePath] {
      #expect(problems(["count": .path(path)]) == ["invalidMapping count"], "\(path)")
    }
    #expect(problems(["count": ""]) == [])
    #expect(problems(["count": .path(ValuePath([.key("a"), .key(""), .key("b")]))]) == [])
    #expect(("a..b" as ValuePath) == ValuePath([.key("a"), .key(""), .key("b")]))
    #expect(problems(["count": "a.\"\".b"]) == [])
  }

  @Test("A path with a wildcard key or an identity throws invalidMapping and suggests a fix")
  func patterns() {
    func reasons(_ mapping: JSONMapping<Two>) -> [String] {
      do {
        _ = try JSONAdapter(mapping)
        return []
      } catch { return ArchiveError.wrap(error).all.map(\.reason) }
    }
    #expect(
      reasons(["count": "*"]) == [
        "the path * is not a JSON path: * matches every key; write \\* for a key named *"
      ])
    #expect(
      reasons(["count": .readOnly("a[*].*")]) == [
        "the path a[*].* is not a JSON path: * matches every key; write \\* for a key named *"
      ])
    #expect(
      reasons(["text": .path(ValuePath([.key("a"), .element(key: "id", id: 3)]))]) == [
        "the path a[id=3] is not a JSON path: a component selects an element by identity or content; write the index "
          + "of the element"
      ])
    #expect(reasons(["count": "\\*", "text": .readOnly("a[*].b")]) == [])
    let error = #expect(throws: ArchiveError.self) {
      try JSONAdapter<Two>().decode(Data(#"{"a": {"count": 1}}"#.utf8), at: "*")
    }
    #expect(error?.code == .invalidMapping && error?.reason.contains("write \\* for a key") ?? false)
  }

  @Test("Keys that are named * or contain brackets are read and written")
  func literalKeys() throws {
    let adapter = try JSONAdapter<Two>(["count": "\\*", "text": .path(ValuePath("[0]", "a=b]"))])
    let text = #"{"*":3,"[0]":{"a=b]":"x"}}"#
    #expect(try adapter.decode(Data(text.utf8)) == Two(count: 3, text: "x"))
    #expect(try String(decoding: adapter.encode(Two(count: 3, text: "x")), as: UTF8.self) == text)
  }

  @Test("The root path can be read, but not written as one of several paths")
  func root() throws {
    let whole = try JSONAdapter<Two>(["count": .readOnly(.firstOf("n", "."))])
    #expect(try whole.decode(Data(#"{"n": 3}"#.utf8)).count == 3)
    #expect(problems(["text": .firstOf(".", "n")]) == ["invalidMapping text"])
    #expect(problems(["text": .paths("n", ".")]) == ["invalidMapping text"])
    #expect(try JSONAdapter<Two>().decode(Data(#"{"count": 5}"#.utf8), at: ".").count == 5)
  }

  @Test("Two fields with the same path are rejected in decoding and in encoding")
  func oneplace() throws {
    for use in [
      { _ = try Twins(fromJSON: Data(#"{"n": 1}"#.utf8)) }, { _ = try Twins(fromJSON: ["n": 1] as ArchiveValue) },
      { _ = try JSONReader().read([Twins].self, from: Data(#"[{"n": 1}]"#.utf8)) }, { _ = try Twins().jsonData() },
      { _ = try JSONAdapter<Twins>() },
    ] as [() throws -> Void] {
      let error = #expect(throws: ArchiveError.self, performing: use)
      #expect(error?.code == .invalidMapping)
    }
  }

  @Test(
    "stringFromNumber keeps all digits of any JSON number",
    arguments: [
      "12", "18446744073709551616", "340282366920938463463374607431768211455", "12345678901234567890.12", "1.5",
      "123456789012345678901234567890123456789012345678901234567890",
    ])
  func textFromNumber(number: String) throws {
    let adapter = try JSONAdapter<Two>(["text": .path("t").lenient(.stringFromNumber)])
    #expect(try adapter.decode(Data("{\"t\": \(number)}".utf8)).text == number)
  }
}
