import StrataCore
import StrataTestSupport
import Testing

private final class Room: DescribedModel {
  var name: String
  var next: Room?
  var doors: [Room]
  weak var house: Room?

  init(_ name: String, next: Room? = nil, doors: [Room] = [], house: Room? = nil) {
    (self.name, self.next, self.doors, self.house) = (name, next, doors, house)
  }

  static let fields = Fields(
    Room.self, version: 1, Field("name", \.name), Field("next", \.next), Field("doors", \.doors, default: []),
    Field("house", \.house, archive: .conditional), make: { Room($0, next: $1, doors: $2, house: $3) })
}

private final class Fixed: DescribedModel {
  let mirror: Mirror

  init(_ mirror: Mirror) { self.mirror = mirror }

  static let fields = Fields(Fixed.self, version: 1, Field("mirror", \.mirror), make: { Fixed($0) })

  final class Mirror: DescribedModel {
    var shows: Fixed?
    init(_ shows: Fixed?) { self.shows = shows }
    static let fields = Fields(Mirror.self, version: 1, Field("shows", \.shows), make: { Mirror($0) })
  }
}

@Suite("Objects of described models")
struct DescribedObjectTests {
  private func archived<M: VersionedModel>(_ model: M) throws -> M {
    try ArchiveDecoder().decode(M.self, from: ArchiveEncoder().encode(model))
  }

  @Test("M-13, U-15: decoding restores cycles through optionals, collections and weak references")
  func circles() throws {
    let house = Room("house")
    house.doors = (0..<3).map { Room("\($0)", house: house) }
    for (room, next) in zip(house.doors, house.doors.dropFirst() + house.doors) { room.next = next }
    let copy = try archived(house)
    #expect(copy.doors.map(\.name) == ["0", "1", "2"])
    #expect(copy.doors.allSatisfy { $0.house === copy })
    #expect(copy.doors[0].next === copy.doors[1] && copy.doors[2].next === copy.doors[0])
    for room in house.doors + copy.doors { room.next = nil }
  }

  @Test("A-5: a conditional reference decodes as nil if nothing else writes its object")
  func conditional() throws {
    let house = Room("house")
    #expect(try archived(Room("kitchen", house: house)).house == nil)
  }

  @Test("U-15: a cycle may include a constant if it also includes a variable that can be set later")
  func constants() throws {
    let mirror = Fixed.Mirror(nil)
    let fixed = Fixed(mirror)
    mirror.shows = fixed
    let copy = try archived(fixed)
    #expect(copy.mirror.shows === copy)
    (mirror.shows, copy.mirror.shows) = (nil, nil)
  }
}
