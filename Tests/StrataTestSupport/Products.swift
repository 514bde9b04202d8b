import Foundation
import Testing

/// The executables of the package, which are built next to the test bundle.
package enum Products {
  /// Returns the path of an executable. Fails the test if it is not built.
  package static func path(_ name: String) throws -> String {
    let places =
      [URL(fileURLWithPath: CommandLine.arguments[0])] + Bundle.allBundles.map(\.bundleURL)
      + [Bundle.main.executableURL].compactMap { $0 }
    let candidates = places.flatMap { place in
      [place, place.deletingLastPathComponent()].map { $0.appendingPathComponent(name) }
    }
    let found = candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) }
    return try #require(found, "\(name) is not built").path
  }
}
