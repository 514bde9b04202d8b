/// The paths of requests for a single record, for servers that do not use the list's path followed by the id.
///
///     EntityEndpoints(create: "projects/{projectID}/tasks", delete: "tasks/{id}/trash")
///
/// The placeholder `{id}` is replaced with the server's id of the record. Any other key in braces is replaced with the value of the
/// property with that key. If the property refers to another record, its value is the server's id of that record.
public struct EntityEndpoints: Sendable, Hashable {
  /// The path of the `GET` request for one record. It may contain no placeholder except `{id}`.
  public var record: String?
  /// The path of the `POST` request for a new record. Placeholders are replaced with the values that are sent.
  public var create: String?
  /// The path of the `PATCH` or `PUT` request for a changed record. Placeholders are replaced with the server's values, even if the app has
  /// changed them locally.
  public var update: String?
  /// The path of the `DELETE` request for a record. Placeholders are replaced with the server's values, even if the app has changed them
  /// locally.
  public var delete: String?

  /// Creates endpoints from paths that are relative to the base URL. If a path is `nil`, the path of the list is used,
  /// followed by the id if the record exists on the server.
  public init(record: String? = nil, create: String? = nil, update: String? = nil, delete: String? = nil) {
    (self.record, self.create, self.update, self.delete) = (record, create, update, delete)
  }
}

/// A path with placeholders, which are property keys in braces.
struct PathTemplate: Sendable {
  private enum Part: Sendable {
    case text(String)
    case key(String)
  }

  private var components: [[Part]] = []

  var keys: [String] {
    components.joined().compactMap { if case .key(let key) = $0 { key } else { nil } }
  }

  /// Parses a path.
  ///
  /// - Throws: ``RemoteError`` with the code `invalidConfiguration` if the braces are unbalanced or the path is empty.
  init(_ path: String) throws {
    for component in path.split(separator: "/") {
      var parts: [Part] = []
      var rest = component[...]
      while let open = rest.firstIndex(of: "{") {
        guard let close = rest[open...].firstIndex(of: "}"), close > rest.index(after: open) else {
          throw RemoteError(
            .invalidConfiguration,
            "the path “\(path)” has an incomplete placeholder; write a key and a “}” after each “{”")
        }
        try parts.append(Self.text(rest[..<open], path))
        parts.append(.key(String(rest[rest.index(after: open)..<close])))
        rest = rest[rest.index(after: close)...]
      }
      components.append(parts + [try Self.text(rest, path)])
    }
    guard !components.isEmpty else {
      throw RemoteError(
        .invalidConfiguration,
        "an endpoint has an empty path; specify a path")
    }
  }

  private static func text(_ text: Substring, _ path: String) throws -> Part {
    guard !text.contains("}") else {
      throw RemoteError(
        .invalidConfiguration,
        "the path “\(path)” has a “}” without a “{”")
    }
    return .text(String(text))
  }

  /// Returns the components of the path, with each placeholder replaced by its value.
  ///
  /// - Parameter value: returns the value for the key in a placeholder.
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

/// The path templates of the requests for one record of an entity.
struct EntityPaths: Sendable {
  let record: PathTemplate
  let create: PathTemplate
  let update: PathTemplate
  let delete: PathTemplate

  /// Parses a mapper's endpoints. Derives the missing ones from the path of the entity's list.
  ///
  /// - Throws: ``RemoteError`` with the code `invalidConfiguration` if a path is malformed, has a placeholder that is not allowed, or lacks
  ///   a required `{id}`.
  init(_ mapper: EntityMapper, keys: Set<String>) throws {
    func template(_ path: String?, _ own: String, _ keys: Set<String>, needsID: Bool) throws -> PathTemplate {
      let template = try PathTemplate(path ?? own)
      if let other = template.keys.first(where: { !keys.contains($0) }) {
        throw RemoteError(
          .invalidConfiguration,
          "the path “\(path ?? own)” uses the unknown key “\(other)”; the available keys are "
            + "\(keys.sorted().joined(separator: ", "))")
      }
      guard !needsID || template.keys.contains("id") else {
        throw RemoteError(
          .invalidConfiguration, "the path “\(path ?? own)” does not identify the record; add {id} to the path")
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

  func template(_ verb: String) -> PathTemplate {
    switch verb {
    case "POST": create
    case "DELETE": delete
    default: update
    }
  }
}
