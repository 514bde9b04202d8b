internal import Foundation
internal import StrataCore

/// Resolves symbolic links in paths.
enum RealPath {
  /// The maximum number of links to follow. More links are treated as a cycle.
  private static let mostLinks = 40

  /// Returns the path with all links resolved. Components that do not exist yet are kept unchanged.
  ///
  /// - Throws: `ToolError` if the system cannot resolve the path, or if the resolved path is not UTF-8.
  static func of(_ path: String) throws -> String {
    var url = URL(fileURLWithPath: path).absoluteURL
    var rest: [String] = []
    var links = 0
    while true {
      if let found = realpath(url.path, nil) {
        defer { free(found) }
        guard let found = String(validatingCString: found) else {
          throw ToolError("\(path): the resolved path is not valid UTF-8")
        }
        var url = URL(fileURLWithPath: found)
        for name in rest.reversed() { url.appendPathComponent(name) }
        return url.standardized.path
      }
      guard errno == ENOENT, url.path != "/" else { throw ToolError("\(path): " + String(cString: strerror(errno))) }
      if try FileStatus(ofPath: url.path)?.isSymbolicLink ?? false {
        // The link is dangling. A file that is written through the link is created at its target.
        links += 1
        guard links <= mostLinks else { throw ToolError("\(path): " + String(cString: strerror(ELOOP))) }
        let target = try FileManager.default.destinationOfSymbolicLink(atPath: url.path)
        url = URL(fileURLWithPath: target, relativeTo: url.deletingLastPathComponent()).absoluteURL
      } else {
        rest.append(url.lastPathComponent)
        url.deleteLastPathComponent()
      }
    }
  }
}
