internal import Foundation

/// The resource that a path names.
enum ResourceRoute: Sendable, Hashable {
  /// `/api/tasks`
  case list(String)
  /// `/api/tasks/t1`
  case record(String, id: String)
  /// `/api/projects/p1/tasks`: the records of a list that refer to a record of another list.
  case nested(parent: String, id: String, list: String)

  /// The prefix of all paths.
  static let root = "/api"

  /// - Returns: `nil` for any other path.
  init?(_ url: URL) {
    var parts = url.path(percentEncoded: true).split(separator: "/", omittingEmptySubsequences: false)[...]
    guard parts.popFirst() == "", parts.popFirst() == Self.root.dropFirst() else { return nil }
    // A trailing slash is ignored.
    if parts.last == "" { parts.removeLast() }
    let names = parts.compactMap { $0.removingPercentEncoding }
    guard names.count == parts.count, !names.contains("") else { return nil }
    switch names.count {
    case 1: self = .list(names[0])
    case 2: self = .record(names[0], id: names[1])
    case 3: self = .nested(parent: names[0], id: names[1], list: names[2])
    default: return nil
    }
  }

  /// The allowed methods.
  var methods: [String] {
    switch self {
    case .list: ["GET", "HEAD", "POST"]
    case .record: ["GET", "HEAD", "PATCH", "PUT", "DELETE"]
    case .nested: ["GET", "HEAD"]
    }
  }

  /// Returns the names of members that may refer to a list. For `projects`, the name is `project_id`. For `movies`, both `movie_id`
  /// and `movy_id` are accepted, because only a dictionary could tell which singular is right.
  static func references(to list: String) -> [String] { singulars(list).map { $0 + "_id" } }

  private static func singulars(_ plural: String) -> [String] {
    guard plural.hasSuffix("s"), !plural.hasSuffix("ss") else { return [plural] }
    var singulars = [String(plural.dropLast())]
    if plural.hasSuffix("ies") { singulars.append(plural.dropLast(3) + "y") }
    if ["ses", "xes", "zes", "shes", "ches"].contains(where: plural.hasSuffix) {
      singulars.append(String(plural.dropLast(2)))
    }
    return singulars
  }
}
