/// The paths of requests for one record, if they differ from the list's path followed by the id.
///
///     EntityEndpoints(create: "projects/{projectID}/tasks", delete: "tasks/{id}/trash")
///
/// The placeholder `{id}` is replaced by the server's id of the record, and any other key in braces by the value of
/// that property. If the property refers to a record, its value is the server's id of the referenced record.
public struct EntityEndpoints: Sendable, Hashable {
  /// The path of `GET` for one record. Its only placeholder can be `{id}`.
  public var record: String?
  /// The path of `POST`. The sent values replace the properties in the path.
  public var create: String?
  /// The path of `PATCH` and `PUT`. The server's values replace the properties in the path.
  public var update: String?
  /// The path of `DELETE`. The server's values replace the properties in the path.
  public var delete: String?

  /// Creates endpoints from paths that are relative to the base URL. A path that is `nil` is derived from the list's
  /// path.
  public init(record: String? = nil, create: String? = nil, update: String? = nil, delete: String? = nil) {
    (self.record, self.create, self.update, self.delete) = (record, create, update, delete)
  }
}

/// A path with placeholders, which are keys in braces.
struct PathTemplate: Sendable {
  private enum Part: Sendable {
    case text(String)
    case key(String)
  }

  private var components: [[Part]] = []

  /// The keys that are placeholders in the path.
  var keys: [String] {
    components.joined().compactMap { if case .key(let key) = $0 { key } else { nil } }
  }

  /// - Throws: ``RemoteError`` with the code `invalidConfiguration` if the braces are unbalanced or the path is empty.
  init(_ path: String) throws {
    for component in path.split(separator: "/") {
      var parts: [Part] = []
      var rest = component[...]
      while let open = rest.firstIndex(of: "{") {
        guard let close = rest[open...].firstIndex(of: "}"), close > rest.index(after: open) else {
          throw RemoteError(.invalidConfiguration, "the path \(path) has a { without a key and a closing }")
        }
        try parts.append(Self.text(rest[..<open], path))
        parts.append(.key(String(rest[rest.index(after: open)..<close])))
        rest = rest[rest.index(after: close)...]
      }
      components.append(parts + [try Self.text(rest, path)])
    }
    guard !components.isEmpty else { throw RemoteError(.invalidConfiguration, "the path of an endpoint is empty") }
  }

  private static func text(_ text: Substring, _ path: String) throws -> Part {
    guard !text.contains("}") else { throw RemoteError(.invalidConfiguration, "the path \(path) has a } without a {") }
    return .text(String(text))
  }

  /// Returns the path's components, with a value in place of each key.
  func filled(_ value: (String) throws -> String) rethrows -> [String] {
    try components.map { parts in
      try parts.map { part in
        switch part {
        case .text(let text): text
        case .key(let key): try value(key)
        }
      }.joined()
    }
  }
}

/// The path templates of the requests for one record.
struct EntityPaths: Sendable {
  let record: PathTemplate
  let create: PathTemplate
  let update: PathTemplate
  let delete: PathTemplate

  /// - Throws: ``RemoteError`` with the code `invalidConfiguration`.
  init(_ mapper: EntityMapper, keys: Set<String>) throws {
    func template(_ path: String?, _ own: String, _ keys: Set<String>, needsID: Bool) throws -> PathTemplate {
      let template = try PathTemplate(path ?? own)
      if let other = template.keys.first(where: { !keys.contains($0) }) {
        throw RemoteError(
          .invalidConfiguration,
          "the path \(path ?? own) uses the unknown key \(other); the available keys are "
            + "\(keys.sorted().joined(separator: ", "))")
      }
      guard !needsID || template.keys.contains("id") else {
        throw RemoteError(
          .invalidConfiguration, "the path \(path ?? own) does not identify the record; add {id}")
      }
      return template
    }
    let (endpoints, list) = (mapper.endpoints, mapper.path)
    let known = keys.union(["id"])
    record = try template(endpoints.record, list + "/{id}", ["id"], needsID: true)
    create = try template(endpoints.create, list, mapper.ids == .client ? known : keys, needsID: false)
    update = try template(endpoints.update, list + "/{id}", known, needsID: true)
    delete = try template(endpoints.delete, list + "/{id}", known, needsID: true)
  }

  /// Returns the path template for a request method.
  func template(_ verb: String) -> PathTemplate {
    switch verb {
    case "POST": create
    case "DELETE": delete
    default: update
    }
  }
}
