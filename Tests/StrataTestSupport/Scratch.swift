package import Foundation

/// A temporary folder that is removed with its contents when the instance is released.
package final class Scratch {
  package let url: URL

  package init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  // A remaining temporary folder is harmless, and a deinitializer cannot throw.
  deinit { try? FileManager.default.removeItem(at: url) }

  package func path(_ name: String) -> String { url.appending(path: name).path }

  /// Creates a file and returns its path.
  package func file(_ name: String, _ data: Data) throws -> String {
    try data.write(to: url.appending(path: name))
    return path(name)
  }

  package func file(_ name: String, _ text: String) throws -> String { try file(name, Data(text.utf8)) }

  package func data(_ name: String) throws -> Data { try Data(contentsOf: url.appending(path: name)) }

  package var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
  }
}

/// Calls `body` with a temporary folder, and removes the folder with its contents afterwards.
package func withFolder<R>(_ body: (URL) throws -> R) throws -> R {
  let scratch = try Scratch()
  return try withExtendedLifetime(scratch) { try body(scratch.url) }
}

package func withFolder<R>(_ body: (URL) async throws -> R) async throws -> R {
  let scratch = try Scratch()
  defer { withExtendedLifetime(scratch) {} }
  return try await body(scratch.url)
}
