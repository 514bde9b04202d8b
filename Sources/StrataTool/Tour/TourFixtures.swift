internal import Foundation

/// The responses that the tour takes where none are named: those of Fixtures/json/tour, which SwiftPM compiles into the program.
enum TourFixtures {
  /// The name and the text of each, in their order.
  static let responses = [
    (name: "1-issue.json", text: Data(PackageResources.issue_json)),
    (name: "2-triaged.json", text: Data(PackageResources.triaged_json)),
    (name: "3-closed.json", text: Data(PackageResources.closed_json)),
  ]
}
