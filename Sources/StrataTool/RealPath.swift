internal import Foundation
internal import StrataCore

/// Resolves symbolic links in paths.
enum RealPath {
  /// The path with its links resolved. The components that do not exist yet are kept as they are.
  ///
  /// - Throws: `ToolError` if the system cannot resolve the path, or if the resolved path is not UTF-8.
  static func of(_ path: String) throws -> String {
    var url = URL(fileURLWithPath: path).absoluteURL
    var rest: [String] = []
    while true {
      if let found = realpath(url.path, nil) {
        defer { free(found) }
        guard let found = String(validatingCString: found) else {
          throw ToolError("\(path): leads to a path that is not UTF-8")
        }
        var url = URL(fileURLWithPath: found)
        for name in rest.reversed() { url.appendPathComponent(name) }
        return url.standardized.path
      }
      guard errno == ENOENT, url.path != "/" else { throw ToolError("\(path): " + String(cString: strerror(errno))) }
      // A dangling link: a file that is written through it is created at its target.
      let target = try AtomicFile.target(of: url.path).path
      if target != url.path {
        url = URL(fileURLWithPath: target)
      } else {
        rest.append(url.lastPathComponent)
        url.deleteLastPathComponent()
      }
    }
  }
}
