import Foundation
import Observation
import Strata

// Recipes:begin ObservedModel
@Observable
@Model(version: 1)
final class Playlist {
  let id: Int
  var title: String
  @Field(merge: .union) var tags: [String] = []
  /// Used only by the view: not archived, and not observed.
  @ObservationIgnored @Field(storage: .none) var scrollPosition = 0.0

  init(id: Int, title: String) { (self.id, self.title) = (id, title) }
}

/// Holds the playlist for the views. A model belongs to no actor; who holds it may.
@MainActor
final class PlaylistScreen {
  private let playlist: Playlist
  private(set) var heading = ""
  private(set) var drawings = 0

  init(_ playlist: Playlist) {
    self.playlist = playlist
    draw()
  }

  /// Merges a document pushed by the server. Only views that read a changed property are drawn again.
  @discardableResult
  func receive(_ json: Data) throws -> MergeReport { try playlist.mergeValues(fromJSON: json) }

  /// As SwiftUI does for a view: draws, and again after one of the properties changed that drawing has read.
  private func draw() {
    drawings += 1
    withObservationTracking {
      heading = playlist.title
    } onChange: { [weak self] in
      // This is said before the change, on the thread that makes it: the new value is there a turn later.
      Task { @MainActor in self?.draw() }
    }
  }
}
// Recipes:end
