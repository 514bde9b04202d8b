import StrataCore
import StrataTestSupport
import Testing

private class WrittenVehicle: VersionedModel, Validating {
  class var validation: Validation<WrittenVehicle> {
    Validation(.replace("name", \.name) { $0.lowercased() }, .check("name", \.name, .nonEmpty))
  }

  var name: String
  weak var owner: WrittenGarage?

  init(name: String) { self.name = name }

  private static let vehicleSchema = ModelSchema(
    WrittenVehicle.self, name: "Vehicle", version: 2,
    fields: [FieldInfo("name", String.self), FieldInfo("owner", WrittenGarage?.self, archive: .conditional)])
  class var schema: ModelSchema { vehicleSchema }

  required init(fields reader: inout ArchiveReader) throws {
    name = try reader.field(0)
    owner = try reader.field(1)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, name)
    try writer.conditionalField(1, owner)
  }

  func readField(_ place: Int, from reader: inout ArchiveReader) throws {
    switch place {
    case 0: name = try reader.field(0)
    case 1: owner = try reader.field(1)
    default: throw reader.constantInCycle(place)
    }
  }
}

private final class WrittenCar: WrittenVehicle {
  let doors: Int

  init(name: String, doors: Int) {
    self.doors = doors
    super.init(name: name)
  }

  private static let carSchema = ModelSchema(
    WrittenCar.self, name: "Car", version: 3, superclass: WrittenVehicle.self,
    fields: [FieldInfo("doors", Int.self, isConstant: true)])
  override class var schema: ModelSchema { carSchema }

  override class var validation: Validation<WrittenVehicle> {
    super.validation.adding(Validation<WrittenCar>(.check("doors", \.doors, .range(2...5))))
  }

  required init(fields reader: inout ArchiveReader) throws {
    doors = try reader.field(0)
    reader.beginSuperclass(after: 1)
    try super.init(fields: &reader)
    reader.endSuperclass(after: 1)
  }

  override func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, doors)
    writer.beginSuperclass(after: 1)
    try super.encodeFields(to: &writer)
    writer.endSuperclass(after: 1)
  }

  override func readField(_ place: Int, from reader: inout ArchiveReader) throws {
    guard place > 0 else { throw reader.constantInCycle(place) }
    reader.beginSuperclass(after: 1)
    try super.readField(place - 1, from: &reader)
    reader.endSuperclass(after: 1)
  }
}

private final class WrittenGarage: DescribedModel {
  var vehicles: [WrittenVehicle]

  init(vehicles: [WrittenVehicle]) { self.vehicles = vehicles }

  static let fields = Fields(
    WrittenGarage.self, version: 1, Field("vehicles", \.vehicles, default: []), make: { WrittenGarage(vehicles: $0) })
}

@Suite struct HandWrittenHierarchyTests {
  @Test("A-5, A-14, M-14: handwritten classes keep inherited fields, identity and cycles")
  func hierarchy() throws {
    let owner = WrittenGarage(vehicles: [WrittenCar(name: "c", doors: 4), WrittenVehicle(name: "v")])
    for vehicle in owner.vehicles { vehicle.owner = owner }
    let data = try ArchiveEncoder(subclasses: [WrittenCar.self]).encode(owner)
    let copy = try ArchiveDecoder(subclasses: [WrittenCar.self]).decode(WrittenGarage.self, from: data)
    #expect(copy.vehicles.map(\.name) == ["c", "v"])
    #expect((copy.vehicles[0] as? WrittenCar)?.doors == 4)
    #expect(copy.vehicles.allSatisfy { $0.owner === copy })
    #expect(try ArchiveEncoder(subclasses: [WrittenCar.self]).encode(copy) == data)
  }

  @Test("V-2: a subclass inherits the rules of its superclass and can add rules")
  func rules() throws {
    let decoder = ArchiveDecoder(subclasses: [WrittenCar.self])
    func decoded(_ vehicles: WrittenVehicle...) throws -> [WrittenVehicle] {
      try decoder.decode(
        WrittenGarage.self,
        from: ArchiveEncoder(subclasses: [WrittenCar.self]).encode(WrittenGarage(vehicles: vehicles))
      ).vehicles
    }
    #expect(
      try decoded(WrittenVehicle(name: "VAN"), WrittenCar(name: "MINI", doors: 3)).map(\.name) == ["van", "mini"])
    for (vehicle, failures) in [
      (WrittenVehicle(name: ""), ["name: must not be empty"]),
      (WrittenCar(name: "", doors: 3), ["name: must not be empty"]),
      (WrittenCar(name: "", doors: 9), ["doors: must be in the range 2...5", "name: must not be empty"]),
      (WrittenCar(name: "MINI", doors: 1), ["doors: must be in the range 2...5"]),
    ] {
      let error = try #require(throws: ArchiveError.self) { try decoded(vehicle) }
      #expect(error.failures.map { "\($0)" } == failures.map { "vehicles[0].\($0)" })
      let name = vehicle.name
      #expect(throws: ArchiveError.self) { try vehicle.validated() }
      var same = vehicle
      #expect(throws: ArchiveError.self) { try same.validate() }
      // If a rule of the subclass fails, the values that the superclass's rules replaced are restored.
      #expect(same === vehicle && vehicle.name == name && !vehicle.isValid)
    }
    var car: WrittenVehicle = WrittenCar(name: "MINI", doors: 3)
    try car.validate()
    #expect(car.name == "mini" && car.isValid)
  }

  @Test func errorsNameTheFieldOfTheSuperclass() throws {
    var record = ModelRecord(typeName: "Car", modelVersion: 3, fields: [("doors", 4), ("name", 5), ("owner", .null)])
    record.superclasses = [.init(typeName: "Vehicle", modelVersion: 2)]
    let graph = ObjectGraph(objects: [.record(record)], root: .reference(0))
    let data = try ArchiveEncoder().encode(graph, typeName: "Car", modelVersion: 3)
    let error = try #require(throws: ArchiveError.self) { try ArchiveDecoder().decode(WrittenCar.self, from: data) }
    #expect(error.code == .typeMismatch && error.pathDescription == "name" && error.typeName == "Car")
  }
}
