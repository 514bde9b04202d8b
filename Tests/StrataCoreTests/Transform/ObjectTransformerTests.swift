import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// A class that isn't `Sendable`, like most classes.
private final class TransformedPerson: DescribedModel {
  var name: String
  init(name: String) { self.name = name }
  static let fields = Fields(
    TransformedPerson.self, name: "TransformedPerson", version: 1, Field("name", \.name),
    make: { TransformedPerson(name: $0) })
}

private let people: JSONAdapter<TransformedPerson> = {
  do { return try JSONAdapter(["name": "login"]) } catch { fatalError("\(error)") }
}()

/// A class that isn't `Sendable` and isn't a model.
private final class TransformedMoney: Codable {
  var cents: Int
  init(cents: Int) { self.cents = cents }
}

/// A type of another module that is only `Codable`.
private struct TransformedSpan: Codable, Equatable, Sendable {
  var location: Int
  var length: Int
}

private let span = ReversibleTransformer<[Int], TransformedSpan>(
  { numbers in
    guard numbers.count == 2 else { throw TransformError("a span has two numbers", input: numbers) }
    return TransformedSpan(location: numbers[0], length: numbers[1])
  }, reverse: { [$0.location, $0.length] })

private let money = ReversibleTransformer<Decimal, TransformedMoney>(
  toObjects: { TransformedMoney(cents: NSDecimalNumber(decimal: $0 * 100).intValue) },
  reverse: { Decimal($0.cents) / 100 })

/// A model whose fields use transformers to classes and to types that are only `Codable`.
private struct TransformedReport: VersionedModel {
  var author: TransformedPerson?
  var readers: [TransformedPerson?]
  var span: TransformedSpan
  var price: TransformedMoney?
  var spans: [TransformedSpan]
  var range: NSRange

  static let schema = ModelSchema(
    TransformedReport.self, name: "TransformedReport", version: 1,
    fields: [
      FieldInfo("author", TransformedPerson?.self, json: .path("user", .model(people))),
      FieldInfo("readers", [TransformedPerson?].self, json: .path("readers", .models(people))),
      FieldInfo("span", TransformedSpan.self, json: .path("span", StrataCoreTests.span)),
      FieldInfo("price", TransformedMoney?.self, json: .path("price").transformed(by: money)),
      FieldInfo("spans", [TransformedSpan].self, json: .path("spans").transformed(by: StrataCoreTests.span.array)),
      FieldInfo(
        "range", NSRange.self,
        json: .path(
          "range",
          ReversibleTransformer<[Int], NSRange>(
            { NSRange(location: $0[0], length: $0[1]) }, reverse: { [$0.location, $0.length] }))),
    ])

  init(fields reader: inout ArchiveReader) throws {
    author = try reader.field(0)
    readers = try reader.field(1)
    span = try reader.field(2)
    price = try reader.field(3)
    spans = try reader.field(4)
    range = try reader.field(5)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, author)
    try writer.field(1, readers)
    try writer.field(2, span)
    try writer.field(3, price)
    try writer.field(4, spans)
    try writer.field(5, range)
  }
}

@Suite("Transformers to classes and Codable types")
struct ObjectTransformerTests {
  private static let text =
    #"{"user":{"login":"ada"},"readers":[{"login":"bob"},null],"span":[1,2],"price":1.5,"spans":[[3,4],[5,6]],"range":[7,8]}"#

  @Test("Transformed fields round-trip through JSON text, JSON values and archives")
  func roundTrip() throws {
    let adapter = try JSONAdapter<TransformedReport>()
    let data = Data(Self.text.utf8)
    for report in [
      try adapter.decode(data), try adapter.decode(JSONReader().read(data)), try TransformedReport(fromJSON: data),
      try ArchiveDecoder().decode(TransformedReport.self, from: ArchiveEncoder().encode(adapter.decode(data))),
    ] {
      #expect(report.author?.name == "ada" && report.readers.map { $0?.name } == ["bob", nil])
      #expect(report.span == TransformedSpan(location: 1, length: 2) && report.price?.cents == 150)
      #expect(report.spans == [TransformedSpan(location: 3, length: 4), TransformedSpan(location: 5, length: 6)])
      #expect(report.range == NSRange(location: 7, length: 8))
      #expect(try String(decoding: adapter.encode(report), as: UTF8.self) == Self.text)
    }
  }

  @Test("An error has the path of the field and the rejected JSON")
  func errors() throws {
    let adapter = try JSONAdapter<TransformedReport>()
    let text = Self.text.replacing("[1,2]", with: "[1]")
    let error = #expect(throws: ArchiveError.self) { try adapter.decode(Data(text.utf8)) }
    #expect(error?.pathDescription == "span" && error?.code == .rejected && error?.input as? [Int] == [1])
    let name = Self.text.replacing(#""ada""#, with: "7")
    let inside = #expect(throws: ArchiveError.self) { try adapter.decode(Data(name.utf8)) }
    #expect(inside?.pathDescription == "author.name")
  }

  @Test("Invalid elements of a Codable type can be skipped")
  func skipping() throws {
    let adapter = try JSONAdapter<TransformedReport>(
      JSONMapping<TransformedReport>.model.merging(["spans": .path("list").skippingInvalid]))
    let text = Self.text.replacing(
      #""spans":[[3,4],[5,6]]"#,
      with: #""list":[{"location":1,"length":2},{"location":"x"},7,{"location":3,"length":4}]"#)
    let report = try adapter.decode(Data(text.utf8))
    #expect(report.spans == [TransformedSpan(location: 1, length: 2), TransformedSpan(location: 3, length: 4)])
  }

  @Test("A transformer can take objects as input, and its errors do not retain them")
  func alone() throws {
    let model = ReversibleTransformer.model(people)
    #expect(try model.transform(["login": "ada"]).name == "ada")
    #expect(try model.array.optional.reverse([TransformedPerson(name: "x")]) == [["login": "x"]])
    struct Refusal: Error {}
    let refusing = Transformer<TransformedPerson, Int>(ofObjects: { _ in throw Refusal() })
    let error = #expect(throws: TransformError.self) { try refusing.transform(TransformedPerson(name: "x")) }
    #expect(error?.input == nil && error?.underlyingError is Refusal)
  }
}
