internal import Foundation

/// A part of the tour: what is told, and the archive that is left behind.
struct TourStage {
  let title: String
  let lines: [String]
  /// The name of the archive and its bytes.
  let fileName: String
  let archive: Data
  /// The issue as it is by now.
  let issue: Issue
  /// Whether the archive gives back what was saved.
  let isIntact: (Data) throws -> Bool
  /// Bytes of the JSON that the archive stands for.
  let jsonSize: Int
}
