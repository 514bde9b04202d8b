import Foundation
import StrataCore
import StrataRemote

/// A minimal in-memory server. It has lists of JSON objects, each with a version number that serves as its ETag.
final class ModelServer: HTTPTransport {
  struct Record {
    var json: ArchiveValue
    var version: Int
  }

  /// A fault that replaces the normal handling of a request.
  enum Fault {
    /// The request does not arrive.
    case lost
    /// The request arrives, but its response does not.
    case answerLost
    case status(Int)
    case body(String)
  }

  struct State {
    var lists: [String: [(id: String, record: Record)]] = [:]
    var requests: [HTTPRequest] = []
    var answers: [String: HTTPResponse] = [:]
    var version = 0
    var lastID = 0
    var headers: HTTPHeaders = [:]
    var pageSize: Int?
    /// Called for each request before it is processed. Returns the fault to apply, or `nil` for none.
    var fault: (@Sendable (HTTPRequest) -> Fault?)?
    /// Returns the status code with which the server refuses a change, or `nil` to accept it.
    var refuses: (@Sendable (HTTPRequest) -> Int?)?
    var acceptsIDs = false
    /// Returns the id of a new record. By default, ids are strings with consecutive numbers.
    var idOfNew: (@Sendable (ArchiveValue) -> ArchiveValue?)?
    var sendsETags = true
    /// Whether the server recognizes a repeated request by its `Idempotency-Key`.
    var honoursKeys = true
    /// Whether a null in a PATCH removes the key, as in RFC 7396. Otherwise, the value becomes null, as in a column.
    var removesNulls = false
  }

  let state = Mutex(State())
  let base = parsed("https://example.com/api", URL.init(string:))

  init(_ lists: [String: String] = [:]) {
    for (name, json) in lists { set(name, json) }
  }

  /// Replaces a list.
  func set(_ list: String, _ json: String) {
    let value = parsed(json) { try? JSONReader().read(Data($0.utf8)) }
    state.withLock { state in
      state.version += 1
      state.lists[list] = (value.arrayValue ?? []).map { record in
        (Self.id(record), Record(json: record, version: state.version))
      }
    }
  }

  static func id(_ record: ArchiveValue) -> String {
    switch record["id"] ?? .null {
    case .string(let text): text
    case .int(let number): String(number)
    default: ""
    }
  }

  var requests: [HTTPRequest] { state.withLock { $0.requests } }

  /// The requests as lines like `GET /tasks`, in their order.
  var lines: [String] { requests.map { "\($0.method) \($0.url.path.dropFirst(4))" } }

  func forget() { state.withLock { $0.requests = [] } }

  func json(_ list: String, _ id: String) -> ArchiveValue? {
    state.withLock { $0.lists[list]?.first { $0.id == id }?.record.json }
  }

  func count(_ list: String) -> Int { state.withLock { $0.lists[list]?.count ?? 0 } }

  /// Changes a record on the server.
  func edit(_ list: String, _ id: String, _ json: String) {
    let patch = parsed(json) { try? JSONReader().read(Data($0.utf8)) }
    state.withLock { state in
      state.version += 1
      guard let place = state.lists[list]?.firstIndex(where: { $0.id == id }) else { return }
      let old = state.lists[list, default: []][place].record.json
      state.lists[list, default: []][place].record.json = JSONMergePatch.apply(patch, to: old)
      state.lists[list, default: []][place].record.version = state.version
    }
  }

  func delete(_ list: String, _ id: String) {
    state.withLock { state in
      state.version += 1
      state.lists[list]?.removeAll { $0.id == id }
    }
  }

  func send(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse {
    try Task.checkCancellation()
    await Task.yield()
    let fault = state.withLock { state in
      state.requests.append(request)
      return state.fault
    }?(request)
    if case .lost? = fault { throw lostError }
    if case .status(let status)? = fault { return HTTPResponse(status, url: request.url) }
    let response = state.withLock { answer(request, &$0) }
    if case .answerLost? = fault { throw lostError }
    // A refusal is sent unchanged, because replacing it with a success would confirm the change.
    if case .body(let text)? = fault, response.status < 400 {
      return HTTPResponse(200, body: Data(text.utf8), url: request.url)
    }
    return response
  }

  private var lostError: any Error { RemoteError(.cutOff, "the connection ended before the answer did") }

  private func answer(_ request: HTTPRequest, _ state: inout State) -> HTTPResponse {
    let path = request.url.path(percentEncoded: true).dropFirst(base.path.count + 1)
    let parts = path.split(separator: "/").map { $0.removingPercentEncoding ?? String($0) }
    let (headers, sendsETags) = (state.headers, state.sendsETags)
    func response(_ status: Int, _ json: ArchiveValue? = nil, _ version: Int? = nil) -> HTTPResponse {
      var headers = headers
      if let version, sendsETags { headers["ETag"] = "\"v\(version)\"" }
      return HTTPResponse(
        status, headers: headers, body: json.map { json in parsed(json) { try? JSONWriter().write($0) } } ?? Data(),
        url: request.url)
    }
    guard let list = parts.first, state.lists[list] != nil else { return response(404) }
    let key = request.headers["Idempotency-Key"].map { $0 + request.method }
    if state.honoursKeys, let key, let known = state.answers[key] { return known }
    if let status = state.refuses?(request) { return response(status) }
    let result = change(request, list, parts, &state, response)
    if let key, result.status < 300 { state.answers[key] = result }
    return result
  }

  private func change(
    _ request: HTTPRequest, _ list: String, _ parts: [String], _ state: inout State,
    _ response: (Int, ArchiveValue?, Int?) -> HTTPResponse
  ) -> HTTPResponse {
    let body = request.body.flatMap { try? JSONReader().read($0) } ?? .null
    if parts.count == 1 {
      switch request.method {
      case "GET":
        let records = state.lists[list] ?? []
        let version = records.map(\.record.version).max() ?? 0
        let tag = version * 1000 + records.count
        if state.sendsETags, request.headers["If-None-Match"] == "\"v\(tag)\"" { return response(304, nil, tag) }
        let items = URLComponents(url: request.url, resolvingAgainstBaseURL: true)?.queryItems ?? []
        func number(_ name: String) -> Int? { items.first { $0.name == name }?.value.flatMap(Int.init) }
        var shown = records.map(\.record.json)
        if let page = number("page"), let size = number("per_page") {
          shown = Array(shown.dropFirst((page - 1) * size).prefix(size))
        } else if let limit = number("limit") {
          shown = Array(shown.dropFirst(number("offset") ?? 0).prefix(limit))
        }
        return response(200, .array(shown), tag)
      case "POST":
        state.version += 1
        state.lastID += 1
        let own = Self.id(body)
        let id = state.idOfNew?(body) ?? .string(state.acceptsIDs && !own.isEmpty ? own : "s\(state.lastID)")
        var record = body
        if case .object(var object) = record {
          object["id"] = id
          record = .object(object)
        }
        state.lists[list]?.append((Self.id(record), Record(json: record, version: state.version)))
        return response(201, record, state.version)
      default: return response(405, nil, nil)
      }
    }
    guard let place = state.lists[list]?.firstIndex(where: { $0.id == parts[1] }) else {
      return response(404, nil, nil)
    }
    let known = state.lists[list, default: []][place].record
    if let tag = request.headers["If-Match"], tag != "\"v\(known.version)\"" {
      return response(412, known.json, known.version)
    }
    switch request.method {
    case "GET": return response(200, known.json, known.version)
    case "PATCH", "PUT":
      state.version += 1
      // A record on the server has all its columns, so a removed key becomes null.
      var new = body
      if request.method == "PATCH", state.removesNulls {
        new = JSONMergePatch.apply(body, to: known.json)
      } else if request.method == "PATCH", case .object(var object) = known.json, case .object(let patch) = body {
        for entry in patch.entries {
          object[entry.key] =
            entry.value.isNull ? .null : JSONMergePatch.apply(entry.value, to: object[entry.key] ?? .null)
        }
        new = .object(object)
      }
      if case .object(var object) = new {
        object["id"] = known.json["id"]
        new = .object(object)
      }
      state.lists[list, default: []][place].record = Record(json: new, version: state.version)
      return response(200, new, state.version)
    case "DELETE":
      state.version += 1
      state.lists[list, default: []].remove(at: place)
      return response(204, nil, nil)
    default: return response(405, nil, nil)
    }
  }
}

/// Parses a string of a test. Ends the process if the string is invalid.
private func parsed<Text, Value>(_ text: Text, _ parse: (Text) -> Value?) -> Value {
  guard let value = parse(text) else { fatalError("cannot be read: \(text)") }
  return value
}
