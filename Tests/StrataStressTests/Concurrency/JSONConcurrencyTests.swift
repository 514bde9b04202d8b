import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("JSON Concurrency")
struct JSONConcurrencyTests {
  @Test("X-1: a hundred tasks share one reader and one writer")
  func text() async throws {
    let text = Data(
      #"{"a":[1,2.5,1e400,"\u00e9\n",true,null,12345678901234567890123],"b":{"url":"https://example.com/"}}"#.utf8)
    let expected = try JSONReader().read(text)
    let written = try JSONWriter().write(expected)
    let source = Everything()
    let model = try source.jsonData()
    await hundredTasks(share: (reader: JSONReader(), writer: JSONWriter())) { shared, _ in
      let value = try shared.reader.read(text)
      #expect(value == expected)
      #expect(try shared.writer.write(value) == written)
      #expect(try shared.writer.write(source) == model)
      #expect(try shared.reader.read(Everything.self, from: model) == source)
      #expect(throws: ArchiveError.self) { try shared.reader.read(text.dropLast()) }
    }
  }

  @Test("X-1, J-33, U-5: a hundred tasks share one adapter with transformers of every predefined kind")
  func adapter() async throws {
    let adapter = try JSONAdapter<Survey>()
    let text = Data(Survey.text.utf8)
    let survey = try adapter.decode(text)
    #expect(String(decoding: try adapter.encode(survey), as: UTF8.self) == Survey.text)
    await hundredTasks(share: adapter) { adapter, task in
      var read = try adapter.decode(text)
      #expect(read == survey)
      #expect(try adapter.encode(read) == text)
      try adapter.merge(.json(Data(#"{"dates": {"day": "2021-02-03"}, "hex": "a\#(task % 10)"}"#.utf8)), into: &read)
      #expect(read.hex == 0xa0 + task % 10)
      let patch = try adapter.jsonMergePatch(from: survey, to: read)
      #expect(patch["dates"]?["day"] == "2021-02-03")
      let error = #expect(throws: ArchiveError.self) {
        try adapter.decode(
          Data(Survey.text.replacing("25%", with: "x").replacing("green", with: "blue").utf8), errors: .collectAll)
      }
      #expect(error?.all.map(\.pathDescription) == ["percent", "signal"])
    }
  }

  @Test("X-1: a hundred tasks create adapters from one mapping")
  func mapping() async throws {
    let mapping = JSONMapping<Owner>.snakeCase.merging(["login": .firstOf("user", "login")])
      .transforming(by: ReversibleTransformer.date(format: "yyyy-MM-dd"))
    let owner = Owner(login: "ada", joined: Date(timeIntervalSince1970: 86_400))
    await hundredTasks(share: mapping) { mapping, _ in
      let adapter = try JSONAdapter<[Owner]>().using(JSONAdapter(mapping))
      let data = try adapter.encode([owner])
      #expect(String(decoding: data, as: UTF8.self) == #"[{"user":"ada","joined":"1970-01-02"}]"#)
      #expect(try adapter.decode(data) == [owner])
    }
  }

  @Test("X-1: a hundred tasks share one cluster")
  func cluster() async throws {
    let cluster = try JSONCluster<Figure>(
      by: .key("kind"),
      .model("circle", JSONAdapter<Circle>(), wrap: { .circle($0) }) {
        if case .circle(let it) = $0 { it } else { nil }
      },
      .model("rectangle", JSONAdapter<Rectangle>(), wrap: { .rectangle($0) }) {
        if case .rectangle(let it) = $0 { it } else { nil }
      })
    await hundredTasks(share: cluster) { cluster, task in
      let figures: [Figure] = [.circle(Circle(radius: Double(task))), .rectangle(Rectangle(width: 1, height: 2))]
      for figure in figures {
        let again = try cluster.decode(cluster.encode(figure))
        #expect(again == figure)
      }
      #expect(throws: ArchiveError.self) { try cluster.decode(Data(#"{"kind": "cone"}"#.utf8)) }
    }
  }

  @Test("X-1, V-6: a hundred tasks validate with the same rules, including a regular expression")
  func validation() async {
    await hundredTasks(share: goodEntry) { good, task in
      #expect(good.isValid)
      let bad = Entry(id: 0, title: "A \(task)")
      #expect(failures { try bad.validated() } == ["id: must be in the range 1...", "title: must match the pattern"])
      let entry = try Entry(fromJSON: Data(#"{"id": 1, "title": "a", "stars": -4}"#.utf8))
      #expect(entry.stars == 0)
    }
  }
}
