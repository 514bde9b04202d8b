internal import Foundation
internal import StrataCore

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Where paths lead.
enum RealPath {
  /// How many links are followed before they count as a cycle.
  private static let mostLinks = 40

  /// The path without links, as far as there is something; what does not exist yet follows as it is.
  ///
  /// - Throws: where the system does not tell, or tells a path that is not UTF-8.
  static func of(_ path: String) throws -> String {
    var url = URL(fileURLWithPath: path).absoluteURL
    var rest: [String] = []
    var links = 0
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
      if try FileStatus(ofPath: url.path)?.isSymbolicLink ?? false {
        // A link to nothing yet: what is written goes to where it leads.
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
