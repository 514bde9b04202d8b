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
  /// Returns whether an archive is decoded to the saved value.
  let isIntact: (Data) throws -> Bool
  /// The size in bytes of the JSON that the archive replaces.
  let jsonSize: Int
}
