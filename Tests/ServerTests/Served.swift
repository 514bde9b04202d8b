import Foundation
import StrataCore
import StrataRemote
import StrataTestSupport
import Testing

@testable import StrataServer

/// A server without a socket, with a fixed time and numbered ids.
final class Served: Sendable {
  /// The server's clock and source of ids.
  private final class Surroundings: Sendable {
    let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000.25))
    let ids = Mutex(0)
  }

  static let tasks = """
    [{"id": "t1", "title": "One", "done": true, "project_id": "p1", "tags": ["a", "b"], "owner": {"name": "Ada"}},
     {"id": "t2", "title": "Two", "done": false, "project_id": "p1", "tags": [], "notes": null},
     {"id": "t3", "title": "Three & more", "done": false, "project_id": "p2", "tags": ["b"]},
     {"id": "t4", "title": "Four", "done": false, "project_id": 1},
     {"id": "t5", "title": "Five", "done": true}]
    """
  static let lists = ["projects": #"[{"id": "p1", "name": "First"}, {"id": "p2", "name": "Second"}]"#, "tasks": tasks]
  /// The initial modification date of all records.
  static let start = Date(timeIntervalSince1970: 1_700_000_000.75)

  private let server: Mutex<ResourceServer>
  private let surroundings = Surroundings()

  convenience init(
    _ lists: [String: String] = lists, options: ResourceOptions = ResourceOptions(),
    faults: ServeFaults = ServeFaults(share: 0, seed: 0), storage: (any ResourceStorage)? = nil
  ) throws {
    let texts = lists.sorted { $0.key < $1.key }.map { ($0.key, Data($0.value.utf8)) }
    try self.init(texts, options: options, faults: faults, storage: storage)
  }

  /// Creates a server with named lists that are given as JSON.
  init(
    _ lists: [(name: String, json: Data)], options: ResourceOptions = ResourceOptions(),
    faults: ServeFaults = ServeFaults(share: 0, seed: 0), storage: (any ResourceStorage)? = nil
  ) throws {
    let made = try lists.map { name, json in
      try ResourceList(name: name, values: JSONReader().read(json).arrayValue ?? [], modified: Self.start)
    }
    let surroundings = surroundings
    server = Mutex(
      ResourceServer(
        made, options: options, faults: faults, storage: storage, now: { surroundings.time.withLock { $0 } },
        makeID: {
          surroundings.ids.withLock { id in
            id += 1; return "new\(id)"
          }
        }))
  }

  func pass(_ seconds: Double) { surroundings.time.withLock { $0 += seconds } }

  /// Sends a request. The content is JSON unless the headers declare another type.
  func send(_ method: String, _ path: String, _ body: String? = nil, _ headers: HTTPHeaders = [:]) throws
    -> HTTPResponse
  {
    let url = try #require(URL(string: "http://127.0.0.1:8080/api" + path))
    var headers = headers
    if body != nil, headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
    return answer(HTTPRequest(method, url, headers: headers, body: body.map { Data($0.utf8) }))
  }

  func get(_ path: String, _ headers: HTTPHeaders = [:]) throws -> HTTPResponse { try send("GET", path, nil, headers) }

  func answer(_ request: HTTPRequest) -> HTTPResponse { server.withLock { $0.answer(request) } }

  /// The ids of the records in the response for a list.
  func ids(_ path: String) throws -> [String] {
    let response = try get(path)
    #expect(response.status == 200, "\(path): \(response.text)")
    return try #require(JSONReader().read(response.body).arrayValue).compactMap { $0["id"]?.scalarText }
  }
}

extension HTTPResponse {
  var text: String { String(decoding: body, as: UTF8.self) }
  var etag: String { headers["ETag"] ?? "" }
  var json: ArchiveValue {
    get throws { try JSONReader().read(body) }
  }

  /// Checks that the response is an RFC 9457 problem with the given status, and that its detail contains the fragment.
  func expectProblem(_ status: Int, _ fragment: String? = nil, at location: SourceLocation = #_sourceLocation) throws {
    #expect(self.status == status, "\(text)", sourceLocation: location)
    #expect(headers["Content-Type"] == "application/problem+json", sourceLocation: location)
    let json = try json
    #expect(json["type"] == "about:blank" && json["status"] == .int(Int64(status)), sourceLocation: location)
    #expect(json["title"]?.stringValue == StatusPhrase.of(status), sourceLocation: location)
    let detail = try #require(json["detail"]?.stringValue, sourceLocation: location)
    if let fragment { #expect(detail.contains(fragment), "\(text)", sourceLocation: location) }
    #expect(json.objectValue?.keys == ["type", "title", "status", "detail"], sourceLocation: location)
  }
}
