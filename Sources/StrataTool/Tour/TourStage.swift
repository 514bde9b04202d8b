internal import Foundation

/// A stage of the tour: the text to print, and the archive to write.
struct TourStage {
  let title: String
  let lines: [String]
  /// The file name of the archive.
  let fileName: String
  let archive: Data
  /// The issue after this stage.
  let issue: Issue
  /// Returns whether decoding an archive gives the value that was saved in this stage.
  let isIntact: (Data) throws -> Bool
  /// The size in bytes of the JSON that the archive replaces.
  let jsonSize: Int
}
