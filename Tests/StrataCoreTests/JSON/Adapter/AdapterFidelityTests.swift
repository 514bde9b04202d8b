import Foundation
import Strata
import StrataTestSupport
import Testing

/// The example object of an article about mapping with key-value coding. Its boolean must stay a boolean.
@Model(version: 1)
private struct Subject: Equatable {
  var canUpdate: Bool
  var childs: [String]
  var degree: Double
  var identifier: Int
  var name: String
  var number: Int
}

@Model(version: 1)
private struct Reserved: Equatable {
  var description = "d"
  var hash = 1
  var `class` = "c"
  var `self` = "s"
  @Field(json: "a\\.b") var dotted = 2
  var small: Int8 = 1
}

@Suite("Fidelity of the JSON adapter")
struct AdapterFidelityTests {
  @Test("KV-5, J-28, U-25: the sample object round-trips with booleans and integers unchanged")
  func article() throws {
    let text =
      #"{"canUpdate":true,"childs":["daughter","son","musuco","musume"],"degree":3.0,"identifier":1122,"name":"HOGEMOGE","number":5}"#
    let adapter = try JSONAdapter<Subject>()
    let subject = try adapter.decode(Data(text.utf8))
    #expect(subject.canUpdate && subject.degree == 3 && subject.identifier == 1122)
    #expect(String(decoding: try adapter.encode(subject), as: UTF8.self) == text)
  }

  @Test(
    "KV-1, KV-8: only declared fields are decoded, and their names can be reserved words")
  func reserved() throws {
    let adapter = try JSONAdapter<Reserved>()
    let read = try adapter.decode(
      json(
        #"{"description": "x", "hash": 2, "class": "y", "self": "z", "a.b": 3, "a": {"b": 9}, "schema": 1, "init": []}"#
      ))
    #expect(read == Reserved(description: "x", hash: 2, class: "y", self: "z", dotted: 3))
    #expect(try adapter.decode(adapter.encode(read)) == read)
  }

  @Test("KV-3, KV-4, KV-7, KV-10: a struct encodes all declared fields, applies renames and writes nil as null")
  func plainStruct() throws {
    let adapter = try JSONAdapter<Exact>(.identity.merging(["text": "caption"]))
    #expect(
      try text(adapter.encodeValue(Exact(flag: true)))
        == #"{"caption":null,"flag":true,"number":null,"small":null,"unsigned":null,"ratio":null,"anything":null}"#)
    #expect(try adapter.decode(json(#"{"caption": "c"}"#)) == Exact(text: "c"))
  }

  @Test("X-5, U-25: Decimal fields keep the exact digits of the JSON text")
  func decimals() throws {
    let adapter = try JSONAdapter<Price>()
    for digits in ["0.8333333", "19.99", "0.1", "1234567.891"] {
      let price = try adapter.decode(Data(#"{"amount":\#(digits)}"#.utf8))
      #expect(price.amount == Decimal(string: digits))
      #expect(String(decoding: try adapter.encode(price), as: UTF8.self) == #"{"amount":\#(digits)}"#)
    }
  }

  @Test("KV-6: an 8-bit integer is not treated as a boolean")
  func smallIntegers() throws {
    let adapter = try JSONAdapter<Reserved>()
    #expect(try adapter.encodeValue(Reserved(small: 1))["small"] == .int(1))
    #expect(archiveError { try adapter.decode(json(#"{"small": true}"#)) }?.code == .typeMismatch)
  }

  @Test(
    "X-7, X-2: malformed JSON throws invalidJSON, and a merge leaves the target unchanged",
    arguments: [
      ("{", .invalidJSON), (#"{"number": NaN}"#, .invalidJSON),
      (#"{"name": "\ud800"}"#, .invalidJSON), ("", .invalidJSON), (#"{"number": 5, }"#, .invalidJSON),
    ] as [(String, ArchiveError.Code)])
  func badText(text: String, code: ArchiveError.Code) throws {
    let adapter = try JSONAdapter<Subject>()
    var subject = Subject(canUpdate: true, childs: [], degree: 1, identifier: 2, name: "n", number: 3)
    let before = subject
    #expect(archiveError { try adapter.decode(Data(text.utf8)) }?.code == code)
    #expect(archiveError { try adapter.merge(.json(Data(text.utf8)), into: &subject) }?.code == code)
    #expect(subject == before)
  }

  @Test("X-7: invalid UTF-8, 100,000 nesting levels and duplicate keys are rejected")
  func hostile() throws {
    let adapter = try JSONAdapter<Subject>()
    let bytes = Data(#"{"name": ""#.utf8) + [0xC3, 0x28] + Data(#""}"#.utf8)
    #expect(archiveError { try adapter.decode(bytes) }?.code == .invalidJSON)
    let deep = Data((#"{"childs": "# + String(repeating: "[", count: 100_000)).utf8)
    #expect(archiveError { try adapter.decode(deep) }?.code == .limitExceeded)
    let twice = archiveError { try JSONAdapter<Exact>().decode(Data(#"{"number": 1, "number": 2}"#.utf8)) }
    #expect(twice?.code == .invalidJSON && twice?.pathDescription == "number")
    var narrow = adapter
    narrow.limits.depth = 1
    #expect(archiveError { try narrow.decode(Data(#"{"childs": [1]}"#.utf8)) }?.code == .limitExceeded)
  }

  @Test("X-7, U-4: error handling in deeply nested models does not take exponential time")
  func deepErrors() throws {
    var text = #"{"login": 3}"#
    for _ in 0..<170 { text = #"{"login": "a", "groups": [{"name": "g", "owner": \#(text)}]}"# }
    let error = archiveError { try JSONAdapter<Friend>().decode(json(text), errors: .collectAll) }
    #expect(error?.all.count == 1 && error?.codingPath.count == 511)
    text = #"{"children": [3]}"#
    for _ in 0..<254 { text = #"{"children": [\#(text), 1]}"# }
    #expect(try JSONAdapter<Nest>().decode(json(text)).depth == 255)
  }

  @Test("M-7, X-2: errors for missing, null or mistyped values have the full path; the merge target is unchanged")
  func badValues() throws {
    let adapter = try JSONAdapter<[Subject]>()
    let good = #"{"canUpdate": true, "childs": [], "degree": 3, "identifier": 1, "name": "n", "number": 5}"#
    for (bad, code, path) in [
      (#"{"canUpdate": true}"#, .missingValue, "[1].childs"),
      (good.replacing("true", with: "null"), .typeMismatch, "[1].canUpdate"),
      (good.replacing("[]", with: #"["a", null]"#), .typeMismatch, "[1].childs[1]"),
      (good.replacing("[]", with: #"["a", 3]"#), .typeMismatch, "[1].childs[1]"),
    ] as [(String, ArchiveError.Code, String)] {
      let error = archiveError { try adapter.decode(json("[\(good), \(bad)]")) }
      #expect(error?.code == code && error?.pathDescription == path, "\(bad)")
    }
    var subject = try JSONAdapter<Subject>().decode(json(good))
    let before = subject
    let error = archiveError {
      try JSONAdapter<Subject>().merge(.json(json(#"{"name": "m", "childs": [1]}"#)), into: &subject)
    }
    #expect(error?.pathDescription == "childs[0]" && subject == before)
  }
}

@Model(version: 1)
private struct Nest {
  @Field(json: .path("children").skippingInvalid) var children: [Nest] = []
  var depth: Int { 1 + (children.first?.depth ?? 0) }
}

@Model(version: 1)
private struct Price { var amount: Decimal }

@Suite("JSON adapter concurrency")
struct AdapterConcurrencyTests {
  @Test("X-1, J-33, U-5: 100 concurrent tasks can share an adapter, a cluster, an encoder and a decoder")
  func shared() async throws {
    let adapter = try JSONAdapter<[Member]>().using(JSONAdapter<Member>(JSONMapping.model.merging(["name": "n"])))
    let groups = try JSONAdapter<Friend>()
    let cluster = try JSONCluster<Member>(by: .key("kind"), .model("m", JSONAdapter<Member>()) { $0 })
    let (encoder, decoder) = (ArchiveEncoder(), ArchiveDecoder())
    let document = try json(#"{"login": "a", "groups": [{"name": "g", "owner": {"login": "b", "groups": []}}]}"#)
    await withTaskGroup(of: Bool.self) { tasks in
      for task in 0..<100 {
        tasks.addTask {
          let members = (0..<20).map { Member(name: "\($0)", count: task, nestedName: nil) }
          do {
            for _ in 0..<5 {
              guard try adapter.decode(adapter.encode(members)) == members,
                try groups.encodeValue(groups.decode(document)) == document,
                try cluster.decode(cluster.encodeValue(members[3])) == members[3],
                try decoder.decode([Member].self, from: encoder.encode(members)) == members,
                archiveError({ try groups.decode(["login": 3], errors: .collectAll) })?.key == "name"
              else { return false }
            }
            return true
          } catch { return false }
        }
      }
      for await isRight in tasks { #expect(isRight) }
    }
  }
}
