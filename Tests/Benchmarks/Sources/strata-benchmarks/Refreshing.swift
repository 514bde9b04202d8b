import FlyingFox
import FlyingSocks
import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A post on a server. It is an entity for Strata, and both a Codable type and a database row for the handwritten code.
struct ServedPost: DescribedModel, Entity, Codable, PersistableRecord, Equatable {
  var id: Int
  var title: String
  var score: Double
  var isOpen: Bool
  var author: String?

  static let fields = Fields(
    ServedPost.self, version: 1, Field("id", \.id), Field("title", \.title), Field("score", \.score),
    Field("isOpen", \.isOpen), Field("author", \.author),
    make: { ServedPost(id: $0, title: $1, score: $2, isOpen: $3, author: $4) })
  static let entityMapping = EntityMapping(table: "post")

  /// Returns the posts as JSON. Every tenth post has a different title in each round.
  static func list(round: Int) throws -> Data {
    let posts = (0..<10_000).map { id in
      ServedPost(
        id: id, title: id % 10 == 0 ? "post \(id) of round \(round)" : "post \(id)", score: Double(id) / 8,
        isOpen: id % 3 == 0, author: id % 7 == 0 ? nil : "author \(id % 100)")
    }
    return try JSONEncoder().encode(posts)
  }
}

/// A loopback server that returns one of several bodies, or status 304 if the client already has that body.
private final class PostServer: Sendable {
  let bodies: [Data]
  let round = Mutex(0)
  private let server: HTTPServer

  init(_ bodies: [Data]) async throws {
    self.bodies = bodies
    server = HTTPServer(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled)
  }

  func start() async throws -> URL {
    await server.appendRoute("*") { [self] request in answer(request) }
    Task { try await server.run() }
    try await server.waitUntilListening(timeout: 600)
    guard case .ip4(_, let port)? = await server.listeningAddress,
      let url = URL(string: "http://127.0.0.1:\(port)/api")
    else { throw Failure("the server does not listen") }
    return url
  }

  private func answer(_ request: FlyingFox.HTTPRequest) -> FlyingFox.HTTPResponse {
    let round = round.withLock { $0 }
    let tag = "\"\(round)\""
    var headers: [HTTPHeader: String] = [HTTPHeader("ETag"): tag, .contentType: "application/json"]
    guard request.headers[HTTPHeader("If-None-Match")] != tag else {
      return FlyingFox.HTTPResponse(statusCode: .notModified, headers: headers)
    }
    headers[HTTPHeader("Cache-Control")] = "no-cache"
    return FlyingFox.HTTPResponse(statusCode: .ok, headers: headers, body: bodies[round % bodies.count])
  }

  func stop() async { await server.stop() }
}

extension Runner {
  /// Compares refreshing 10,000 entities from a loopback server with handwritten code that fetches, decodes and upserts them.
  func compareRefreshing() throws {
    let names = ["refresh/bare", "refresh/bare-first", "refresh/not-modified"]
    guard names.contains(where: wants) else { return }
    let folder = try Folder()
    let bodies = try (0..<2).map { try ServedPost.list(round: $0) }
    let (server, url) = try wait {
      let server = try await PostServer(bodies)
      return (server, try await server.start())
    }
    let ours = try Self.posts(folder.file("entities"))
    let theirs = try Self.posts(folder.file("plain"))
    let remote = try wait {
      try await RemoteStore(
        EntityStore(ours, ServedPost.self),
        RemoteConfiguration(baseURL: url, mappers: EntityMapper(ServedPost.self, path: "posts")))
    }
    // Both sides reuse their session.
    let session = URLSession(configuration: .ephemeral)
    func refresh(_ expected: RemoteRefresh.Outcome) throws {
      let refresh = try wait { try await remote.refresh(ServedPost.self) }
      guard refresh.outcome == expected else { throw Failure("the refresh was \(refresh)") }
    }
    func fetchByHand() throws {
      let data = try wait { try await session.data(from: url.appendingPathComponent("posts")).0 }
      let posts = try JSONDecoder().decode([ServedPost].self, from: data)
      try theirs.write { db in for post in posts { try post.upsert(db) } }
    }
    func next() { server.round.withLock { $0 += 1 } }
    try time("refresh/bare", inverted: true) {
      next()
      try refresh(.merged)
    } theirs: {
      next()
      try fetchByHand()
    }
    try refreshBoth(server, refresh, fetchByHand)
    let dump = "SELECT * FROM post ORDER BY id"
    guard
      try ours.read({ try GRDB.Row.fetchAll($0, sql: dump) }) == theirs.read({ try GRDB.Row.fetchAll($0, sql: dump) })
    else { throw Failure("the two sides do not have the same rows") }
    try time("refresh/bare-first", inverted: true) {
      try ours.write { db in
        try db.execute(
          sql: """
            UPDATE temp.strata_remote_session SET applying = 1;
            DELETE FROM post; DELETE FROM strata_remote_records; DELETE FROM strata_remote_copies;
            UPDATE temp.strata_remote_session SET applying = 0;
            """)
      }
      next()
      try refresh(.merged)
    } theirs: {
      try theirs.write { db in try db.execute(sql: "DELETE FROM post") }
      next()
      try fetchByHand()
    }
    try refreshBoth(server, refresh, fetchByHand)
    try time("refresh/not-modified", inverted: true) {
      try refresh(.notModified)
    } theirs: {
      next()
      try refresh(.merged)
    }
    try wait { await server.stop() }
    try ours.close()
    try theirs.close()
    folder.remove()
  }

  private func refreshBoth(
    _ server: PostServer, _ refresh: (RemoteRefresh.Outcome) throws -> Void, _ fetch: () throws -> Void
  ) throws {
    server.round.withLock { $0 += 1 }
    try refresh(.merged)
    try fetch()
  }

  static func posts(_ url: URL) throws -> DatabasePool {
    let pool = try DatabasePool(path: url.path)
    try pool.write { db in
      try db.execute(
        sql: """
          CREATE TABLE post (
            id INTEGER PRIMARY KEY, title TEXT NOT NULL, score REAL NOT NULL, isOpen BOOLEAN NOT NULL, author TEXT);
          """)
    }
    return pool
  }
}

/// Runs an asynchronous function on other threads, and waits for it.
private func wait<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) throws -> T {
  let done = DispatchSemaphore(value: 0)
  let result = Mutex<Result<T, any Error>?>(nil)
  Task.detached {
    do {
      let value = try await body()
      result.withLock { $0 = .success(value) }
    } catch { result.withLock { $0 = .failure(error) } }
    done.signal()
  }
  done.wait()
  guard let found = result.withLock({ $0 }) else { throw Failure("no result") }
  return try found.get()
}
