public import StrataCore
public import StrataStore

/// Describes how an entity's records appear on a server: the path of their list, their JSON keys, and the property that holds the
/// server's id.
///
///     EntityMapper(Task.self, keys: ["desc": "description", "myId": "id"])
///
/// The mapper applies both to records that are received and to records that are sent. A property that is not in `keys` has the JSON key
/// that the model declares, which by default is the property's name. ``RemoteStore`` checks the mapper against the model and the table
/// when it is created.
public struct EntityMapper: Sendable {
  /// Whether the server or the app assigns the ids of records that are created locally.
  public enum IDs: String, Sendable, Hashable, CaseIterable {
    /// The server assigns ids. A new local record has a placeholder id, which is never sent. When the server has
    /// assigned an id, that id replaces the placeholder in all rows.
    case server
    /// The app assigns ids and sends them. If the response contains a different id, that id replaces the app's id.
    case client
  }

  /// How a refresh treats local records that are missing from the server's complete list.
  public enum Missing: String, Sendable, Hashable, CaseIterable {
    /// The missing records are deleted locally, except records with unsent changes and records that the server has
    /// never sent.
    case delete
    /// The missing records are kept.
    case keep
  }

  /// How a local change to a record is sent to the server.
  public enum Update: String, Sendable, Hashable, CaseIterable {
    /// A `PATCH` request whose body contains only the changed keys, as a merge patch (RFC 7396).
    case patch
    /// A `PUT` request with the whole record: the server's record is fetched first, and the local changes are applied to it.
    case put
  }

  /// How a client avoids overwriting changes that other clients have made to a record in the meantime.
  public enum Precondition: String, Sendable, Hashable, CaseIterable {
    /// A change is sent with `If-Match` if a strong ETag of the record is known, or else with `If-Unmodified-Since` if
    /// the modification time of the record is known. If neither is known, the record is first fetched and merged.
    case fetchFirst
    /// A change is sent with the same conditions as for ``fetchFirst``, but the record is never fetched first. If
    /// neither an ETag nor a modification time is known, the change is sent without a condition.
    case whenKnown
    /// Changes are always sent without a condition, so they can overwrite the changes of other clients.
    case none
  }

  /// How a refresh treats a record in the server's list that cannot be decoded as the model.
  public enum Invalid: String, Sendable, Hashable, CaseIterable {
    /// The refresh fails, and nothing is merged.
    case fail
    /// The record is skipped and reported (``RemoteRefresh/invalid``), and the other records are merged. The list is
    /// then treated as incomplete, so no local records that are missing from it are deleted.
    case skip
  }

  let box: any EntityMapperBox
  /// The name of the entity in errors, events and the database. The default is the registered name of its model.
  public let name: String
  /// The path of the list, relative to the base URL, without a slash at either end.
  public let path: String
  /// The key of the property that holds the server's id, or `nil` to use the property whose JSON key is a usual name for an id, such as
  /// `id`.
  public let id: String?
  /// The JSON keys under which a response body contains one record or a list of records, such as `task` and `tasks`. They are used only
  /// if the body is an object with one of these keys.
  public let bodyKeys: (one: String, many: String)
  /// Whether the server or the app assigns the ids of records that are created locally.
  public let ids: IDs
  /// How a refresh treats local records that are missing from the server's complete list.
  public let missing: Missing
  /// How a changed record is sent.
  public let update: Update
  /// How the client avoids overwriting changes that other clients have made to a record in the meantime.
  public let precondition: Precondition
  /// The server's capabilities. They affect how changes are sent.
  public let traits: ServerTraits
  /// The JSON path of the value that marks a record as deleted, or `nil` if the server does not mark deleted records. Any value except
  /// `false` and null means that the record is deleted.
  public let deleted: ValuePath?
  /// How a refresh treats a record in the server's list that cannot be decoded as the model.
  public let invalid: Invalid
  /// How the next page of a list is found.
  public let pagination: RemotePagination
  /// The paths of the requests for one record.
  public let endpoints: EntityEndpoints
  /// The JSON paths of relations that appear in JSON only as the id of the related record, by the relation's key. These paths replace
  /// the paths that the model declares.
  public let references: [String: ValuePath]

  /// - Parameters:
  ///   - type: the entity.
  ///   - keys: the JSON paths of properties, if they differ from the paths that the model declares.
  ///   - id: the key of the property that holds the server's id. By default, the first property that is read from `id`,
  ///     `_id`, `identifier`, `url` or `URL`, in this order.
  ///   - path: the path of the list; by default the lowercase name followed by `s`.
  ///   - name: the name of the entity in errors, events and tables; by default the model's name. The name must not
  ///     change between releases.
  ///   - references: the JSON paths of relations that appear in JSON only as the id of the related record.
  ///   - ids: whether the server or the app assigns the ids of records that are created locally.
  ///   - missing: how a refresh treats local records that are missing from a complete list. By default, they are deleted if
  ///     `pagination` shows when a list is complete, and kept if a list may be only a single page.
  ///   - update: how a changed record is sent.
  ///   - precondition: how the client avoids overwriting changes that other clients have made to a record in the
  ///     meantime.
  ///   - traits: the server's capabilities.
  ///   - deleted: the JSON path whose value marks a record as deleted, for example `deleted` or `deleted_at`.
  ///   - onInvalid: how a refresh treats a record in the server's list that cannot be decoded as the model.
  ///   - pagination: how the next page of the list is found.
  ///   - endpoints: the paths of requests for one record, if they differ from `path` followed by the id.
  public init<E: Entity>(
    _ type: E.Type, keys: JSONMapping<E> = [:], id: String? = nil, path: String? = nil, name: String? = nil,
    references: [String: ValuePath] = [:], ids: IDs = .server, missing: Missing? = nil, update: Update = .patch,
    precondition: Precondition = .fetchFirst, traits: ServerTraits = ServerTraits(),
    deleted: ValuePath? = nil, onInvalid: Invalid = .fail, pagination: RemotePagination = .none,
    endpoints: EntityEndpoints = EntityEndpoints()
  ) {
    let own = name ?? type.schema.name
    box = TypedEntityMapper<E>(keys: keys.merging(JSONMapping<E>(references.mapValues { .path($0) })))
    self.name = own
    self.path = path ?? own.lowercased() + "s"
    bodyKeys = (own.lowercased(), own.lowercased() + "s")
    self.id = id
    self.ids = ids
    self.missing = missing ?? pagination.missing
    self.update = update
    self.precondition = precondition
    self.traits = traits
    self.deleted = deleted
    invalid = onInvalid
    self.pagination = pagination
    self.endpoints = endpoints
    self.references = references
  }

}

extension RemotePagination {
  /// The default of ``EntityMapper/missing``. Without pagination, a list may contain only some of the records, so local
  /// records that are missing from it are kept.
  fileprivate var missing: EntityMapper.Missing {
    switch strategy {
    case .none: .keep
    case .linkHeader, .page, .offset, .cursor: .delete
    }
  }
}
