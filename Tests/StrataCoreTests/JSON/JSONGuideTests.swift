import Foundation
import Strata
import StrataTestSupport
import Testing

// The examples of type tags in Docs/JSON.md. A test compares and runs them.

// JSON:begin
@Model(version: 1)
class Vehicle: JSONTagged, ModelHierarchy {
  var name: String
  init(name: String) { self.name = name }

  static var jsonTagging: JSONTagging {
    .internal("kind", names: ["car": "Car"])
  }
  static var subclasses: [any VersionedModel.Type] { [Car.self, Bike.self] }
}

@Model(version: 1, superclass: Vehicle.self)
final class Car: Vehicle {  // {"kind": "car", "brand": "Fiat", "name": "Panda"}
  var brand: String
  init(name: String, brand: String) {
    self.brand = brand
    super.init(name: name)
  }
}

@Model(version: 1, superclass: Vehicle.self)
final class Bike: Vehicle {  // {"kind": "Bike", "gears": 9, "name": "Roadster"}
  var gears = 9
  override init(name: String) { super.init(name: name) }
}

@Model(version: 1)
struct Garage { var vehicles: [Vehicle] = [] }
// JSON:end

// JSON:begin
@Model(version: 1)
enum Block: JSONTagged {
  case text(Paragraph), picture(Picture)
  static var jsonTagging: JSONTagging {
    .internal("type", names: ["img": "picture"])
  }
}

@Model(version: 1)
struct Paragraph { var body: String }

@Model(version: 1)
struct Picture { var src: String }

@Model(version: 1)
struct Story { var blocks: [Block] = [] }  // {"blocks": [{"type": "text", "body": "…"}, {"type": "img", "src": "…"}]}
// JSON:end

@Suite("The JSON guide")
struct JSONGuideTests {
  @Test("The JSON guide contains both tested examples")
  func examples() throws {
    let examples = try Repository.examples("JSON")
    #expect(examples.count == 2)
    let guide = try Repository.text("Docs/JSON.md")
    for example in examples { #expect(guide.contains(example.trimmingCharacters(in: .whitespacesAndNewlines))) }
  }

  @Test("An array of a superclass reads and writes its subclasses")
  func hierarchy() throws {
    let car = #"{"kind":"car","brand":"Fiat","name":"Panda"}"#
    let bike = #"{"kind":"Bike","gears":9,"name":"Roadster"}"#
    let text = #"{"vehicles":[\#(car),\#(bike)]}"#
    let garage = try Garage(fromJSON: Data(text.utf8))
    #expect((garage.vehicles.first as? Car)?.brand == "Fiat" && (garage.vehicles.last as? Bike)?.gears == 9)
    #expect(try String(decoding: garage.jsonData(), as: UTF8.self) == text)
  }

  @Test("An array of an enum reads and writes several model types")
  func blocks() throws {
    let text = #"{"blocks":[{"type":"text","body":"a"},{"type":"img","src":"b"}]}"#
    let story = try Story(fromJSON: Data(text.utf8))
    guard case .text(let paragraph)? = story.blocks.first, case .picture(let picture)? = story.blocks.last else {
      Issue.record("\(story.blocks)")
      return
    }
    #expect(paragraph.body == "a" && picture.src == "b")
    #expect(try String(decoding: story.jsonData(), as: UTF8.self) == text)
  }
}
