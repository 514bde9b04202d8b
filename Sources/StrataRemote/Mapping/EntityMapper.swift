public import StrataCore
public import StrataStore

/// How a server has the records of an entity: under which path, with which keys, and which of them is the id.
///
///     EntityMapper(Task.self, keys: ["desc": "description", "myId": "id"])
///
/// It counts both ways: for what is read, and for what is sent. Properties that are not listed map as the model declares, which is to
/// themselves unless it says otherwise. ``RemoteStore`` compares it with the model and the table when it is made.
public struct EntityMapper: Sendable {
  /// Who chooses the ids of records that are made here.
  public enum IDs: String, Sendable, Hashable, CaseIterable {
    /// The server. What stands for the id here until then is not sent, and replaced by the server's everywhere.
    case server
    /// The app: the id is sent along. A server that answers with another one is followed.
    case client
  }

  /// What becomes of records here that the server's whole list no longer has.
  public enum Missing: String, Sendable, Hashable, CaseIterable {
    /// They are deleted, unless something of them has not been sent yet. Only what a server has sent once is deleted.
    case delete
    /// They stay.
    case keep
  }

  /// How a changed record is sent.
  public enum Update: String, Sendable, Hashable, CaseIterable {
    /// `PATCH` with the keys that changed, as a merge patch (RFC 7396).
    case patch
    /// `PUT` with the whole record: the server's, which is fetched before, with what was changed here.
    case put
  }

  /// How a record that others changed meanwhile is kept from being overwritten.
  public enum Precondition: String, Sendable, Hashable, CaseIterable {
    /// `If-Match` where a strong ETag of the record is known, `If-Unmodified-Since` where its time is; else the record is fetched and
    /// merged first.
    case fetchFirst
    /// The same, but what is known of the record is enough: without a validator it is sent without a condition.
    case whenKnown
    /// No condition.
    case none
  }

  /// How a refresh treats a record of a list that the model cannot read.
  public enum Invalid: String, Sendable, Hashable, CaseIterable {
    /// The refresh fails, and merges nothing.
    case fail
    /// It is left out and reported (``RemoteRefresh/invalid``), and the others are merged. The list does not count as whole.
    case skip
  }

  let box: any EntityMapperBox
  /// The name of the entity; the registered name of its model unless given.
  public let name: String
  /// The path of its list, relative to the base URL, without a slash at either end.
  public let path: String
  /// The property that holds the id of the server; found by the keys unless given.
  public let id: String?
  /// The keys under which a body may hold one record, or several.
  public let bodyKeys: (one: String, many: String)
  /// Who chooses the ids of records that are made here.
  public let ids: IDs
  /// What becomes of records that a whole list no longer has.
  public let missing: Missing
  /// How a changed record is sent.
  public let update: Update
  /// How a record that others changed meanwhile is kept from being overwritten.
  public let precondition: Precondition
  /// The traits of the server, which decide how changes are sent.
  public let traits: ServerTraits
  /// The path in JSON whose value marks a record as deleted: any value but `false` and null. `nil` if records are not marked.
  public let deleted: JSONPath?
  /// How a refresh treats a record of a list that the model cannot read.
  public let invalid: Invalid
  /// How a list goes on from page to page.
  public let pagination: RemotePagination
  /// The paths of requests for one record.
  public let endpoints: EntityEndpoints
  /// Relations whose JSON is the id of the other record: it stands under this key path instead of the relation's own.
  public let references: [String: JSONPath]

  /// - Parameters:
  ///   - type: the entity.
  ///   - keys: where JSON holds properties that are elsewhere than the model declares.
  ///   - id: the property that holds the server's id. Unless given, it is the one that is read from `id`, `_id`, `identifier`, `url` or
  ///     `URL`, the first of these that there is.
  ///   - path: the path of the list; the lower-cased name and `s` unless given.
  ///   - name: the name of the entity, in errors, events and the tables; the model's unless given. It must not change between releases.
  ///   - references: the relations that JSON holds as ids, and where.
  ///   - ids: who chooses the ids of records that are made here.
  ///   - missing: what becomes of records that a whole list no longer has. Unless given, they are deleted where `pagination` tells
  ///     when a list is whole, and stay where a list may be a page.
  ///   - update: how a changed record is sent.
  ///   - precondition: how one that others changed meanwhile is kept from being overwritten.
  ///   - traits: the traits of the server.
  ///   - deleted: the path in JSON whose value marks a record as deleted: `deleted`, or `deleted_at`.
  ///   - onInvalid: how a refresh treats a record of a list that the model cannot read.
  ///   - pagination: how the pages of the list follow each other.
  ///   - endpoints: the paths of requests for one record, where they are not made of `path` and the id.
  public init<E: Entity>(
    _ type: E.Type, keys: JSONMapping<E> = [:], id: String? = nil, path: String? = nil, name: String? = nil,
    references: [String: JSONPath] = [:], ids: IDs = .server, missing: Missing? = nil, update: Update = .patch,
    precondition: Precondition = .fetchFirst, traits: ServerTraits = ServerTraits(),
    deleted: JSONPath? = nil, onInvalid: Invalid = .fail, pagination: RemotePagination = .none,
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
    switch kind {
    case .none: .keep
    case .linkHeader, .page, .offset, .cursor: .delete
    }
  }
}
