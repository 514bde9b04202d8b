internal import Foundation

/// What a path leads to.
enum ResourceRoute: Sendable, Hashable {
  /// `/api/tasks`
  case list(String)
  /// `/api/tasks/t1`
  case record(String, id: String)
  /// `/api/projects/p1/tasks`: those of a list whose member leads to a record of another one.
  case nested(parent: String, id: String, list: String)

  /// What all paths begin with.
  static let root = "/api"

  /// - Returns: `nil` for a path of any other form.
  init?(_ url: URL) {
    var parts = url.path(percentEncoded: true).split(separator: "/", omittingEmptySubsequences: false)[...]
    guard parts.popFirst() == "", parts.popFirst() == Self.root.dropFirst() else { return nil }
    // A slash at the end says nothing.
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

  /// The methods that can be used there.
  var methods: [String] {
    switch self {
    case .list: ["GET", "HEAD", "POST"]
    case .record: ["GET", "HEAD", "PATCH", "PUT", "DELETE"]
    case .nested: ["GET", "HEAD"]
    }
  }

  /// The members by which records may lead to one of a list: `project_id` for `projects`, and for `movies` both `movie_id` and
  /// `movy_id`, since only a dictionary knows which of them is meant.
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
