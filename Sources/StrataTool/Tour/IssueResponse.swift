internal import Foundation
internal import StrataCore

/// A response from GitHub that contains one issue.
struct IssueResponse {
  let path: String
  let size: Int
  let json: ArchiveValue
  let number: Int

  /// Parses a response and checks that it contains an issue.
  ///
  /// - Parameters:
  ///   - path: the path of the response, as messages show it.
  ///   - isFirst: whether the issue is created from this response. A later response needs only the keys `number` and
  ///     `title`.
  init(path: String, _ data: Data, isFirst: Bool) throws {
    self.path = path
    let file = DataFile(path)
    (json, size) = (try file.document(in: data), data.count)
    guard case .object(let object) = json else {
      throw ToolError("\(file.name): a GitHub issue must be a JSON object; found \(json.kind)")
    }
    let needed = isFirst ? ["number", "title", "state", "user", "created_at"] : ["number", "title"]
    let keys = Set(object.keys)
    let missing = needed.filter { !keys.contains($0) }
    guard missing.isEmpty else {
      let list = missing.map { "“\($0)”" }.joined(separator: ", ")
      throw ToolError("\(file.name): the file is not a GitHub issue because it has no \(list)")
    }
    guard let number = object["number"]?.intValue else {
      throw ToolError("\(file.name): the file is not a GitHub issue because “number” is not an integer")
    }
    self.number = number
  }

  /// The keys of the response that no field of the model reads.
  var unreadKeys: [String] {
    let read = Set(Issue.schema.fields.compactMap { $0.jsonPath.firstKey })
    return json.objectValue?.keys.filter { !read.contains($0) } ?? []
  }

  /// Returns the issue in the form in which version 1 of the model archived it: without nested objects, with different
  /// keys, and with dates as seconds since 1970.
  func version1() throws -> ModelRecord {
    func seconds(_ key: String) throws -> ArchiveValue {
      guard let value = json[key], !value.isNull else { return .null }
      guard let text = value.stringValue, let date = ISO8601.date(from: text) else {
        throw ToolError("\(path): the value of “\(key)” must be a date such as 2011-01-26T19:01:12Z")
      }
      return .double(date.timeIntervalSince1970)
    }
    let labels = json["labels"]?.arrayValue ?? []
    return ModelRecord(
      typeName: "Issue", modelVersion: 1,
      fields: [
        ("number", .integer(number)),
        ("summary", json["title"] ?? .null),
        ("status", json["state"] ?? .null),
        ("text", json["body"] ?? .null),
        ("user_login", json["user"]?["login"] ?? "ghost"),
        ("labels", .array(labels.compactMap { $0["name"] ?? ($0.stringValue == nil ? nil : $0) })),
        ("comment_count", json["comments"] ?? 0),
        ("created", try seconds("created_at")),
        ("updated", try seconds("updated_at")),
        ("page", json["html_url"] ?? .null),
        ("etag", json["node_id"] ?? .null),
      ])
  }
}
