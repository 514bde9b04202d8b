import Foundation
import Strata
import StrataStore
import StrataTestSupport
import Testing

// The code of Docs/FromSwiftData.md, except for the blocks that import SwiftData. A test checks that the guide contains the same
// code, and runs it.

/// In place of the classes of SwiftData, which Linux does not have.
final class Trip {
  var id: UUID
  var name: String
  var start: Date
  var stops: [Stop]

  init(id: UUID, name: String, start: Date, stops: [Stop] = []) {
    (self.id, self.name, self.start, self.stops) = (id, name, start, stops)
  }
}

final class Stop {
  var place: String
  var position: Int

  init(place: String, position: Int) { (self.place, self.position) = (place, position) }
}

// FromSwiftData:begin
@Model(version: 1, name: "Trip")
struct SavedTrip: Equatable {
  let id: UUID
  var name: String
  var start: Date
  var stops: [SavedStop] = []
}

@Model(version: 1, name: "Stop")
struct SavedStop: Equatable {
  var place: String
}

extension SavedTrip {
  init(_ row: Trip) {
    let stops = row.stops.sorted { $0.position < $1.position }
    self.init(
      id: row.id, name: row.name, start: row.start,
      stops: stops.map { SavedStop(place: $0.place) })
  }
}

@Model(version: 1)
struct TakenOver {
  var trips: Int
}

struct Trips {
  let store: SnapshotStore

  /// Saves all SwiftData rows in one transaction,
  /// unless they were saved before.
  func takeOver(_ trips: [SavedTrip]) async throws {
    try await store.write { transaction in
      guard try transaction.value(TakenOver.self, for: "taken over") == nil
      else { return }
      for trip in trips { try transaction.save(trip, as: "trip/\(trip.id)") }
      try transaction.save(TakenOver(trips: trips.count), as: "taken over")
    }
  }

  func save(_ trip: SavedTrip) async throws {
    try await store.save(trip, as: "trip/\(trip.id)")
  }

  func delete(_ trip: SavedTrip) async throws {
    try await store.delete("trip/\(trip.id)")
  }

  func all() async throws -> [SavedTrip] {
    var trips: [SavedTrip] = []
    for try await entry in store.entries(SavedTrip.self, prefix: "trip/") {
      trips.append(entry.value)
    }
    return trips
  }
}

extension SavedTrip {
  func update(_ row: Trip) {
    row.name = name
    row.start = start
    row.stops = stops.enumerated().map {
      Stop(place: $0.element.place, position: $0.offset)
    }
  }
}
// FromSwiftData:end

@Suite("The SwiftData migration guide")
struct FromSwiftDataGuideTests {
  private func row(_ name: String) -> Trip {
    let stops = [Stop(place: "Rome", position: 1), Stop(place: "Milan", position: 0)]
    return Trip(id: UUID(), name: name, start: Date(timeIntervalSinceReferenceDate: 0.1), stops: stops)
  }

  @Test("The guide contains the code of this program, except in blocks that import SwiftData")
  func code() throws {
    let program = try #require(Repository.examples("FromSwiftData").first)
    let blocks = try Repository.blocks(in: Repository.text("Docs/FromSwiftData.md"))
    let compiled = blocks.filter { !$0.hasPrefix("import SwiftData") }
    let missing = Repository.parts(of: compiled, missingFrom: String(program))
    #expect(compiled.count == 4 && blocks.count == 7 && missing.isEmpty, "\(blocks.count) \(missing)")
  }

  @Test("Rows are imported only once, so later edits and deletions are kept")
  func takenOver() async throws {
    let rows = [row("South"), row("North")]
    let saved = rows.map { SavedTrip($0) }
    let trips = Trips(store: try SnapshotStore(inMemory: StoreOptions()))
    try await trips.takeOver(saved)
    let byName = try await trips.all().sorted { $0.name > $1.name }
    #expect(byName == saved && byName[0].stops.map(\.place) == ["Milan", "Rome"])
    var edited = saved[0]
    edited.name = "Far south"
    try await trips.save(edited)
    try await trips.delete(saved[1])
    try await trips.takeOver(saved)
    #expect(try await trips.all() == [edited])
  }

  @Test("A trip updates its SwiftData row")
  func updated() {
    let row = row("South")
    var trip = SavedTrip(row)
    trip.name = "Far south"
    trip.stops.append(SavedStop(place: "Naples"))
    trip.update(row)
    #expect(SavedTrip(row) == trip && row.stops.map(\.position) == [0, 1, 2])
  }
}
