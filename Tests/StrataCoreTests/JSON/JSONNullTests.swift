import Foundation
import StrataCore
import Testing

private struct Ballot: DescribedModel, Equatable {
  var votes: Int
  var title: String
  var tags: [String]
  static let fields = Fields(
    Ballot.self, name: "NullPoll", version: 1, Field("votes", \.votes, json: "counts.votes", default: 3),
    Field("title", \.title), Field("tags", \.tags, default: []),
    make: { Ballot(votes: $0, title: $1, tags: $2) })
}

@Suite("JSON: the error for a rejected null suggests the declaration to add")
struct JSONNullTests {
  private static let withDefault =
    "the value is null, but the field is not optional; make the field optional, or declare a replacement for "
    + "null with .null(.useDefault) or .null(.value(…)) in @Field(json:)"
  private static let without =
    "the value is null, but the field is not optional; make the field optional, or declare a replacement for "
    + "null with .null(.value(…)) in @Field(json:)"

  private static let rows = [
    (#"{"counts": {"votes": null}, "title": "t"}"#, "votes", "counts.votes", withDefault),
    (#"{"title": null}"#, "title", "title", without),
    (#"{"title": "t", "tags": null}"#, "tags", "tags", withDefault),
  ]

  @Test("Every way of decoding or merging throws the same error", arguments: rows)
  func messages(json: String, key: String, jsonPath: String, reason: String) throws {
    let data = Data(json.utf8)
    let poll = Ballot(votes: 1, title: "a", tags: ["x"])
    let roads: [(String, () throws -> Void)] = [
      ("text", { _ = try Ballot(fromJSON: data) }),
      ("value", { _ = try Ballot(fromJSON: JSONReader().read(data)) }),
      ("adapter", { _ = try JSONAdapter<Ballot>().decode(data) }),
      ("all errors", { _ = try JSONAdapter<Ballot>().decode(data, errors: .collectAll) }),
      (
        "mapping",
        {
          _ = try JSONAdapter<Ballot>(["votes": .path("counts.votes"), "title": "title", "tags": "tags"]).decode(data)
        }
      ),
      (
        "lenient",
        {
          _ = try JSONAdapter<Ballot>(
            [
              "votes": .path("counts.votes").lenient(.numericString), "title": "title",
              "tags": .path("tags").skippingInvalid,
            ]).decode(data)
        }
      ),
      (
        "merge",
        {
          var copy = poll
          try copy.merge(.json(data))
        }
      ),
      (
        "merge of a value",
        {
          var copy = poll
          try copy.merge(.json(JSONReader().read(data)))
        }
      ),
      (
        "three ways",
        {
          var copy = poll
          try copy.merge(.json(data), base: poll)
        }
      ),
    ]
    for (road, run) in roads {
      let error = #expect(throws: ArchiveError.self, "\(road)") { try run() }
      #expect(error?.code == .typeMismatch, "\(road)")
      #expect(error?.reason.hasSuffix(reason) == true, "\(road): \(error?.reason ?? "")")
      #expect(error?.codingPath == [.key(key)], "\(road)")
      #expect(error.map { ArchiveError.describe($0.jsonPath) } == jsonPath, "\(road)")
    }
  }

  @Test("Null is rejected by the field without calling its transformer")
  func transformers() throws {
    let adapter = try JSONAdapter<Ballot>([
      "votes": .path("v"), "title": .path("t", .values(["a": "b"])), "tags": "tags",
    ])
    let error = #expect(throws: ArchiveError.self) { try adapter.decode(Data(#"{"t": null}"#.utf8)) }
    #expect(error?.reason.hasSuffix(Self.without) == true, "\(error?.reason ?? "")")
  }

  @Test("The suggested declarations accept null")
  func remedies() throws {
    let adapter = try JSONAdapter<Ballot>(
      ["votes": .path("v").null(.useDefault), "title": .path("t").null(.value("none")), "tags": "tags"])
    let poll = try adapter.decode(Data(#"{"v": null, "t": null}"#.utf8))
    #expect(poll == Ballot(votes: 3, title: "none", tags: []))
  }

  @Test("The error for a null inside a value suggests no field declaration")
  func inside() {
    let error = #expect(throws: ArchiveError.self) {
      try Ballot(fromJSON: Data(#"{"title": "t", "tags": [null]}"#.utf8))
    }
    #expect(error?.reason.contains("@Field") == false)
  }
}
