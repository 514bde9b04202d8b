import Foundation

/// The files of Fixtures/legacy.
enum Legacy {
  static let repository = (0..<3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }

  static func path(_ name: String) -> String { repository.appendingPathComponent("Fixtures/legacy/" + name).path }

  static func data(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }
}
