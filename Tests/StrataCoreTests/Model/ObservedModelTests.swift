import Foundation
import Observation
import Strata
import StrataTestSupport
import StrataCore
import Testing

@Observable
@Model(version: 1)
private final class ObservedPlaylist {
  let id: Int
  var title: String
  @Field(merge: .union) var tags: [String] = []
  @ObservationIgnored @Field(storage: .none) var isOpen = false

  init(id: Int, title: String) { (self.id, self.title) = (id, title) }
}

@Suite("Observable models")
struct ObservedModelTests {
  /// Whether an observer of `read` is notified of `change`.
  private func isSeen(_ read: () -> Void, _ change: () throws -> Void) rethrows -> Bool {
    let seen = Mutex(false)
    try withoutActuallyEscaping(read) { read in
      withObservationTracking(read) { seen.withLock { $0 = true } }
      try change()
    }
    return seen.withLock { $0 }
  }

  @Test("An @Observable model can be archived, written as JSON and merged, and a merge notifies its observers")
  func observed() throws {
    let playlist = ObservedPlaylist(id: 1, title: "a")
    playlist.isOpen = true
    let copy = try archived(playlist)
    #expect(copy.title == "a" && !copy.isOpen)
    #expect(try String(decoding: playlist.jsonData(), as: UTF8.self) == #"{"id":1,"title":"a","tags":[]}"#)
    #expect(
      try isSeen({ _ = playlist.title }) {
        try playlist.mergeValues(fromJSON: Data(#"{"title": "b"}"#.utf8))
      })
    #expect(playlist.title == "b" && playlist.isOpen)
  }
}
