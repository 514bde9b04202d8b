import Foundation
import Strata
import StrataTestSupport
import Testing

@Model(version: 2)
struct Article: Validating, PostDecoding, FieldHashable, DescribesFields {
  let id: Int
  var title: String
  @Field(json: "user.login") var author: String?
  var opened = Date.distantPast
  var closed: Date?
  @Field(storage: .transitory) var reads = 0
  @Field(storage: .none) var selection = 0
  @Field(archive: .excluded) var slug = ""

  static let validation = Validation<Article>(
    .check("id", \.id, .range(1...)),
    .replace("title", \.title) { $0.trimmingCharacters(in: .whitespaces) },
    .check("title", \.title, .nonEmpty, .length(...10)),
    .required("author", \.author),
    .model("it was closed before it was opened", at: "closed") { $0.closed ?? .distantFuture >= $0.opened })

  mutating func didDecode(from source: DecodingSource) throws { slug = title.lowercased() }
}

/// A model whose property names have a meaning in Swift or its standard library.
@Model(version: 1)
struct Awkward: FieldHashable, DescribesFields {
  var `init` = 1
  var `self` = 2
  var `class` = 3
  var hash = 4
  var hashValue_ = 5
  var fields = 6
  var values = 7
  var isValid = 8
  var copy = 9
  var key = 10
  var `default` = 11
  var `Type` = 12
}

/// A model with fields that have the names of standard properties.
@Model(version: 1)
struct Product: Equatable {
  var description: String
  var hash: Int
}

@Model(version: 1)
final class Gauge: Validating, FieldEquatable {
  let id: Int
  var level: Int
  @Field(storage: .none) var onChange: (() -> Void)?
  @Field(storage: .transitory) var seen = 0
  init(id: Int, level: Int) { (self.id, self.level) = (id, level) }
  static let validation = Validation<Gauge>(.check("level", \.level, .range(0...9)))
}

@Model(version: 1)
struct Panel: Equatable {
  var name: String
  var gauge: Gauge
}

@Model(version: 1)
class Outline: Validating {
  var name: String
  init(name: String) { self.name = name }
  class var validation: Validation<Outline> { Validation(.check("name", \.name, .nonEmpty)) }
}

/// A non-final class with validation rules. No subclass adds rules of its own.
@Model(version: 1)
class Frame {
  var name = ""
}

extension Frame: Validating {
  static let validation = Validation<Frame>(.check("name", \.name, .nonEmpty))
}

@Model(version: 1, superclass: Frame.self)
final class SquareFrame: Frame {
  var side = 1.0

  override init() {
    super.init()
  }
}

@Model(version: 1, superclass: Outline.self)
final class SquareOutline: Outline {
  var side: Double = 1
  override class var validation: Validation<Outline> {
    super.validation.adding(Validation<SquareOutline>(.check("side", \.side, .range(0...))))
  }
}

@Model(version: 1)
struct Void0: Equatable {}

@Suite("Validation of macro models")
struct ModelValidationTests {
  private let good = Article(id: 1, title: "Crash", author: "a", selection: 4)

  @Test("V-2, V-8, M-8: decoding JSON runs the hook, validates the model and reports every failure")
  func json() throws {
    let article = try Article(fromJSON: Data(#"{"id": 1, "title": " Crash ", "user": {"login": "a"}}"#.utf8))
    #expect(article.title == "Crash")
    #expect(article.slug == " crash ")
    let bad = Data(
      #"{"id": 0, "title": "  ", "opened": "2020-01-02T00:00:00Z", "closed": "2020-01-01T00:00:00Z"}"#.utf8)
    let error = try #require(throws: ArchiveError.self) { try Article(fromJSON: bad) }
    #expect(
      error.failures.map(\.description) == [
        "id: must be in the range 1...", "title: must not be empty", "author: a value is required",
        "closed: it was closed before it was opened",
      ])
  }

  @Test("V-2: subclasses inherit the validation rules of their superclass")
  func hierarchy() throws {
    #expect(try SquareOutline(fromJSON: Data(#"{"name": "a", "side": 2}"#.utf8)).side == 2)
    let error = try #require(throws: ArchiveError.self) {
      try SquareOutline(fromJSON: Data(#"{"name": "", "side": -2}"#.utf8))
    }
    #expect(error.failures.map(\.description) == ["side: must be in the range 0.0...", "name: must not be empty"])
    #expect(throws: ArchiveError.self) { try Outline(fromJSON: Data(#"{"name": ""}"#.utf8)) }
    // Rules in an extension are applied as well.
    let frame = archiveError { try SquareFrame(fromJSON: Data(#"{"name": "", "side": 2}"#.utf8)) }
    #expect(frame?.failures.map(\.key) == ["name"])
    #expect(archiveError { try archived(SquareFrame()) }?.code == .invalid && !SquareFrame().isValid)
  }

  @Test("V-2, V-7, A-11: decoding an archive validates models unless validation is disabled")
  func archive() throws {
    let data = try ArchiveEncoder().encode([good, Article(id: 0, title: "x", author: "a")])
    let error = try #require(throws: ArchiveError.self) { try ArchiveDecoder().decode([Article].self, from: data) }
    #expect(error.pathDescription == "[1].id")
    #expect(try ArchiveDecoder(validates: false).decode([Article].self, from: data).count == 2)
  }

  @Test(
    "M-3: transitory fields are archived, copied and merged, but not compared, hashed or described")
  func transitory() throws {
    var read = good
    read.reads = 5
    #expect(read == good && read.hashValue == good.hashValue)
    #expect(try read.dictionaryValue["reads"] == 5)
    #expect(try read.copy(updating: ["id": 2]).reads == 5)
    #expect(try archived(read).reads == 5)
    var merged = good
    try merged.mergeValues(from: read)
    #expect(merged.reads == 5)
    #expect("\(read)" == "\(good)" && !"\(read)".contains("reads"))
  }

  @Test("M-3: a property with storage none is not a field, but copying and merging a struct keeps its value")
  func none() throws {
    #expect(try good.dictionaryValue["selection"] == nil)
    #expect(Article.schema.fields.allSatisfy { $0.key != "selection" })
    #expect(try archived(good).selection == 0)
    #expect(try good.copy(updating: ["id": 2]).selection == 4)
    var target = good
    try target.mergeValues(from: Article(id: 3, title: "b", author: "c", selection: 8))
    #expect(target.selection == 4)
    #expect(good == Article(id: 1, title: "Crash", author: "a", selection: 5))
  }

  @Test("M-15: fields can have any name")
  func names() throws {
    let awkward = Awkward()
    #expect(try Awkward(dictionary: awkward.dictionaryValue) == awkward)
    #expect(try archived(awkward) == awkward)
    #expect(try awkward.copy(updating: ["init": 5]).`init` == 5)
    #expect("\(awkward)".hasPrefix("Awkward(init: 1, self: 2, class: 3, hash: 4"))
    let product = Product(description: "a chair", hash: 7)
    #expect(try Product(dictionary: product.dictionaryValue) == product)
    #expect(product.fieldDescription() == #"Product(description: "a chair", hash: 7)"#)
    #expect(try Void0(dictionary: nil) == Void0())
    #expect(Void0().fieldDescription() == "Void0()")
  }

  @Test("M-11, V-2: copy(updating:) returns a new object, and an invalid merge leaves the object unchanged")
  func objects() throws {
    let gauge = Gauge(id: 1, level: 5)
    gauge.onChange = {}
    let copy = try gauge.copy(updating: \.level, to: 6)
    #expect(copy !== gauge && copy != gauge && gauge.level == 5 && copy.onChange == nil)
    #expect(throws: ArchiveError.self) { try gauge.copy(updating: ["level": 10]) }
    let error = try #require(throws: ArchiveError.self) { try gauge.mergeValues(from: Gauge(id: 1, level: 10)) }
    #expect(error.code == .invalid && gauge.level == 5)
    let panel = Panel(name: "p", gauge: Gauge(id: 1, level: 11))
    #expect(!panel.isValid)
    let inner = try #require(throws: ArchiveError.self) { try archived(panel) }
    #expect(inner.pathDescription == "gauge.level")
  }
}
