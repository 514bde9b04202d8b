import Foundation
import Observation
import Strata
import Testing

@testable import Recipes

@MainActor
@Suite("Observation: an observed model")
struct ObservedModelTests {
  /// Lets tasks of the main actor run until the condition is true. The number of turns is limited, so that a failing test ends.
  private func turns(until condition: () -> Bool) async {
    for _ in 0..<10_000 where !condition() { await Task.yield() }
  }

  @Test("A merge that changes a displayed value redraws the view once")
  func merged() async throws {
    let screen = PlaylistScreen(Playlist(id: 1, title: "a"))
    #expect(screen.heading == "a" && screen.drawings == 1)
    try screen.receive(Data(#"{"title": "b", "tags": ["x"]}"#.utf8))
    await turns { screen.drawings > 1 }
    #expect(screen.heading == "b" && screen.drawings == 2)
    // The view was redrawn, and observes the playlist again.
    try screen.receive(Data(#"{"title": "c"}"#.utf8))
    await turns { screen.drawings > 2 }
    #expect(screen.heading == "c" && screen.drawings == 3)
  }

  @Test("A merge that changes no displayed value does not redraw the view")
  func unchanged() async throws {
    let screen = PlaylistScreen(Playlist(id: 1, title: "a"))
    #expect(try screen.receive(Data(#"{"tags": ["x"]}"#.utf8)).changedKeys == ["tags"])
    #expect(try screen.receive(Data(#"{"title": "a"}"#.utf8)).changedKeys.isEmpty)
    #expect(throws: ArchiveError.self) { try screen.receive(Data(#"{"title": "b", "tags": 1}"#.utf8)) }
    for _ in 0..<1000 { await Task.yield() }
    #expect(screen.heading == "a" && screen.drawings == 1)
  }

  @Test("An observed model is archived and written as JSON without its view state")
  func archived() throws {
    let playlist = Playlist(id: 1, title: "a")
    playlist.scrollPosition = 7
    let copy = try ArchiveDecoder().decode(Playlist.self, from: ArchiveEncoder().encode(playlist))
    #expect(copy.title == "a" && copy.scrollPosition == 0)
    #expect(try String(decoding: playlist.jsonData(), as: UTF8.self) == #"{"id":1,"title":"a","tags":[]}"#)
  }
}
