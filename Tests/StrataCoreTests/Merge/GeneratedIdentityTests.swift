import Foundation
import Strata
import Testing

@Suite("Identities that a default creates")
struct GeneratedIdentityTests {
  @Model(version: 1)
  struct Stop: Equatable {
    var id = UUID()
    var name = ""
    var note: String?
  }

  @Model(version: 1)
  struct Trip: Equatable {
    var stops: [Stop] = []
  }

  @Test("Elements of a document that lack their identity replace the local elements, and are not added again")
  func repeated() throws {
    var trip = Trip()
    let document = Data(#"{"stops": [{"name": "a"}, {"name": "b"}]}"#.utf8)
    for _ in 0..<3 {
      try trip.merge(.json(document))
      #expect(trip.stops.map(\.name) == ["a", "b"])
    }
    let base = trip
    trip.stops[0].note = "mine"
    let report = try trip.merge(.json(document), base: base)
    #expect(trip.stops.map(\.name) == ["a", "b"] && trip.stops.map(\.note) == ["mine", nil], "\(report)")
  }
}
