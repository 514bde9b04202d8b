internal import Foundation

/// The default responses of the tour, from Fixtures/json/tour. SwiftPM embeds them in the program.
enum TourFixtures {
  /// The name and the content of each response, in order.
  static let responses = [
    (name: "1-issue.json", text: Data(PackageResources.issue_json)),
    (name: "2-triaged.json", text: Data(PackageResources.triaged_json)),
    (name: "3-closed.json", text: Data(PackageResources.closed_json)),
  ]
}
