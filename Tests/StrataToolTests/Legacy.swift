import Foundation
import StrataTestSupport

/// The files of Fixtures/legacy.
enum Legacy {
  static func path(_ name: String) -> String { Repository.fixtures.appending(path: "legacy/" + name).path }

  static func data(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }
}
