internal import Foundation
internal import StrataCore

/// Where paths lead.
enum RealPath {
  /// The path without links, as far as there is something; what does not exist yet follows as it is.
  static func of(_ path: String) throws -> String {
    var url = URL(fileURLWithPath: path).absoluteURL
    var rest: [String] = []
    while url.path != "/", try FileStatus(ofPath: url.path) == nil {
      rest.append(url.lastPathComponent)
      url.deleteLastPathComponent()
    }
    url.resolveSymlinksInPath()
    for name in rest.reversed() { url.appendPathComponent(name) }
    return url.standardized.path
  }
}
