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
  /// Only the view uses this property. It is neither archived nor observed.
  @ObservationIgnored @Field(storage: .none) var scrollPosition = 0.0

  init(id: Int, title: String) { (self.id, self.title) = (id, title) }
}

/// Stores the playlist for the views. The model is not isolated to an actor, but the object that stores it can be.
@MainActor
final class PlaylistScreen {
  private let playlist: Playlist
  private(set) var heading = ""
  private(set) var drawings = 0

  init(_ playlist: Playlist) {
    self.playlist = playlist
    draw()
  }

  /// Merges a document that the server pushed. Only views that read a changed property are redrawn.
  @discardableResult
  func receive(_ json: Data) throws -> MergeReport { try playlist.mergeValues(fromJSON: json) }

  /// Draws the view, and redraws it after a property that was read during drawing has changed. SwiftUI does the same.
  private func draw() {
    drawings += 1
    withObservationTracking {
      heading = playlist.title
    } onChange: { [weak self] in
      // onChange is called before the change, on the thread that makes the change. The task runs later and reads the new value.
      Task { @MainActor in self?.draw() }
    }
  }
}
// Recipes:end
