public import StrataCore
public import StrataStore

/// Maps an entity to a server's records: their path, their JSON keys, and the property with the id.
///
///     EntityMapper(Task.self, keys: ["desc": "description", "myId": "id"])
///
/// It applies to received and to sent records. Properties that are not listed map as the model declares, by default to
/// a key of the same name. ``RemoteStore`` checks the mapper against the model and the table when it is created.
public struct EntityMapper: Sendable {
  /// Who chooses the ids of records that are created locally.
  public enum IDs: String, Sendable, Hashable, CaseIterable {
    /// The server. A local placeholder id is not sent. It is replaced by the server's id everywhere.
    case server
    /// The app. The id is sent along. If the server answers with another id, that id replaces it.
    case client
  }

  /// How a refresh treats local records that are missing from the server's whole list.
  public enum Missing: String, Sendable, Hashable, CaseIterable {
    /// They are deleted, unless they have unsent changes. Only records that the server has sent before are deleted.
    case delete
    /// They are kept.
    case keep
  }

  /// How a changed record is sent.
  public enum Update: String, Sendable, Hashable, CaseIterable {
    /// `PATCH` with the keys that changed, as a merge patch (RFC 7396).
    case patch
    /// `PUT` with the whole record: the server's record, which is fetched first, with the local changes.
    case put
  }

  /// How a change is kept from overwriting changes that other clients made to the record.
  public enum Precondition: String, Sendable, Hashable, CaseIterable {
    /// `If-Match` if a strong ETag of the record is known, `If-Unmodified-Since` if its time is known. Otherwise the
    /// record is fetched and merged first.
    case fetchFirst
    /// Like `fetchFirst`, but the record is not fetched: without a known validator, the change is sent without a
    /// condition.
    case whenKnown
    /// No condition.
    case none
  }

  /// How a refresh treats a record of a list that the model cannot read.
  public enum Invalid: String, Sendable, Hashable, CaseIterable {
    /// The refresh fails, and merges nothing.
    case fail
    /// The record is skipped and reported (``RemoteRefresh/invalid``), and the others are merged. The list does not
    /// count as whole.
    case skip
  }

  let box: any EntityMapperBox
  /// The name of the entity; the registered name of its model unless given.
  public let name: String
  /// The path of the list, relative to the base URL, without a slash at either end.
  public let path: String
  /// The key of the property that holds the server's id; `nil` if it is found by the JSON keys.
  public let id: String?
  /// The keys under which a body may hold one record, or several.
  public let bodyKeys: (one: String, many: String)
  /// Who chooses the ids of records that are created locally.
  public let ids: IDs
  /// How a refresh treats local records that are missing from the server's whole list.
  public let missing: Missing
  /// How a changed record is sent.
  public let update: Update
  /// How a change is kept from overwriting changes that other clients made to the record.
  public let precondition: Precondition
  /// The traits of the server, which decide how changes are sent.
  public let traits: ServerTraits
  /// The path in JSON whose value marks a record as deleted: any value but `false` and null. `nil` if records are not marked.
  public let deleted: ValuePath?
  /// How a refresh treats a record of a list that the model cannot read.
  public let invalid: Invalid
  /// How the next page of a list is found.
  public let pagination: RemotePagination
  /// The paths of requests for one record.
  public let endpoints: EntityEndpoints
  /// Relations that JSON holds as the other record's id, each with its key path, which replaces the relation's own.
  public let references: [String: ValuePath]

  /// - Parameters:
  ///   - type: the entity.
  ///   - keys: the JSON paths of properties, if they differ from the model's.
  ///   - id: the key of the property that holds the server's id. By default, the first property that is read from `id`,
  ///     `_id`, `identifier`, `url` or `URL`, in this order.
  ///   - path: the path of the list; by default the lowercase name followed by `s`.
  ///   - name: the name of the entity in errors, events and tables; by default the model's. It must not change between
  ///     releases.
  ///   - references: the relations that JSON holds as ids, with their key paths.
  ///   - ids: who chooses the ids of records that are created locally.
  ///   - missing: how a refresh treats local records that are missing from a whole list. By default they are deleted if
  ///     `pagination` determines when a list is whole, and kept if a list may be a page.
  ///   - update: how a changed record is sent.
  ///   - precondition: how a change is kept from overwriting changes that other clients made to the record.
  ///   - traits: the traits of the server.
  ///   - deleted: the path in JSON whose value marks a record as deleted: `deleted`, or `deleted_at`.
  ///   - onInvalid: how a refresh treats a record of a list that the model cannot read.
  ///   - pagination: how the next page of the list is found.
  ///   - endpoints: the paths of requests for one record, if they are not `path` followed by the id.
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
  /// The default of ``EntityMapper/missing``: without pages, a list may be a part of all records.
  fileprivate var missing: EntityMapper.Missing {
    switch strategy {
    case .none: .keep
    case .linkHeader, .page, .offset, .cursor: .delete
    }
  }
}
