internal import Foundation
internal import StrataCore
internal import StrataRemote

/// Answers requests for lists of records, without a socket. Responses depend only on the arguments.
///
/// The order of the checks follows RFC 9110, section 13.2. Checks that don't need the content come first, then the preconditions,
/// then the checks of the content.
struct ResourceServer: Sendable {
  private(set) var lists: [ResourceList]
  let options: ResourceOptions
  private var faults: ServeFaults
  private var storage: (any ResourceStorage)?
  private let now: @Sendable () -> Date
  private let makeID: @Sendable () -> String
  private var repeated = RepeatedRequests()

  /// - Parameters:
  ///   - storage: receives changed lists. If it is `nil`, changes are lost when the server stops.
  ///   - now: the current time.
  ///   - makeID: a unique text for the id of a new record.
  init(
    _ lists: [ResourceList], options: ResourceOptions = ResourceOptions(),
    faults: ServeFaults = ServeFaults(share: 0, seed: 0), storage: (any ResourceStorage)? = nil,
    now: @escaping @Sendable () -> Date, makeID: @escaping @Sendable () -> String
  ) {
    (self.lists, self.options, self.faults, self.storage) = (lists, options, faults, storage)
    (self.now, self.makeID) = (now, makeID)
  }

  /// The response to a request. The response to a HEAD request has the headers of a GET response, and no content.
  mutating func answer(_ request: HTTPRequest) -> HTTPResponse {
    var response: HTTPResponse
    do { response = try checkedAnswer(request) } catch { response = Problem(error).response(url: request.url) }
    response.headers["Date"] = now().httpText
    if request.method == "HEAD" || response.status == 304 {
      // A response to HEAD or with status 304 has no content. Its `Content-Length` is the length of the content that it leaves out
      // (RFC 9110, section 8.6).
      response.headers["Content-Length"] = String(response.body.count)
      response.body = Data()
    }
    return response
  }

  private mutating func checkedAnswer(_ request: HTTPRequest) throws -> HTTPResponse {
    if faults.next() {
      throw Problem(503, "the server fails by chance, as it was told to; try again", headers: ["Retry-After": "0"])
    }
    try authorize(request)
    guard let route = ResourceRoute(request.url), let place = try place(of: route) else { throw notFound }
    guard route.methods.contains(request.method) else {
      let allowed = route.methods.joined(separator: ", ")
      throw Problem(
        405, "the method cannot be used here; \(allowed) can", headers: ["Allow": allowed])
    }
    if request.method == "GET" || request.method == "HEAD" { return try read(request, route, lists[place]) }
    try ContentCheck(request).run(sizeLimit: options.sizeLimit)
    if let known = try repeated.answer(to: request) { return known }
    let response = try change(request, route, place)
    repeated.note(response, to: request)
    return response
  }

  private func authorize(_ request: HTTPRequest) throws {
    guard let token = options.token else { return }
    let parts = (request.headers["Authorization"] ?? "").split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer",
      ExactKey.isSame(parts[1].trimmingCharacters(in: .whitespaces), token)
    else {
      throw Problem(
        401, "the request does not bring the token; Authorization: Bearer and the token are needed",
        headers: ["WWW-Authenticate": "Bearer"])
    }
  }

  // MARK: Resolving paths

  /// The index of the list that a path names, or `nil` if there is none.
  private func place(of route: ResourceRoute) throws -> Int? {
    switch route {
    case .list(let name), .record(let name, _): return place(ofList: name)
    case .nested(let parent, let id, let name):
      guard let place = place(ofList: parent), lists[place][id] != nil else { return nil }
      return self.place(ofList: name)
    }
  }

  private func place(ofList name: String) -> Int? { lists.firstIndex { ExactKey.isSame($0.name, name) } }

  private var notFound: Problem {
    let paths = lists.map { ResourceRoute.root + "/" + $0.name.onOneLine }.joined(separator: ", ")
    return Problem(404, "nothing is at this path; there are \(paths), and the records in them")
  }

  // MARK: Reading

  private func read(_ request: HTTPRequest, _ route: ResourceRoute, _ list: ResourceList) throws -> HTTPResponse {
    var response: HTTPResponse
    let state: Preconditions.State
    if case .record(_, let id) = route {
      guard let record = list[id] else { throw notFound }
      response = self.response(200, record, request.url)
      state = .init(tag: record.tag, modified: record.modified)
    } else {
      let page = try page(request.url, route, list)
      response = HTTPResponse(
        200, headers: ["Content-Type": "application/json", "ETag": page.tag.text], body: page.content, url: request.url)
      response.headers["Link"] = page.links
      state = .init(tag: page.tag, modified: nil)
    }
    response.headers["Cache-Control"] = options.maxAge.map { "max-age=\($0)" } ?? "no-cache"
    switch Preconditions(request, now: now()).outcome(state) {
    case .hold: return response
    case .fail: throw Self.preconditionFailed
    case .notModified:
      response.status = 304
      // The client's copy already has these headers (RFC 9110, section 15.4.5).
      for name in ["Content-Type", "Last-Modified", "Link"] { response.headers[name] = nil }
      return response
    }
  }

  private func page(_ url: URL, _ route: ResourceRoute, _ list: ResourceList) throws -> ResourcePage {
    let query = try ResourceQuery(url, pageSize: options.pageSize)
    var found = list.records
    if case .nested(let parent, let id, _) = route {
      let members = ResourceRoute.references(to: parent)
      found = found.filter { record in
        members.contains { record.json[$0]?.scalarText.map { ExactKey.isSame($0, id) } ?? false }
      }
    }
    if !query.filters.isEmpty { found = found.filter { query.matches($0.json) } }
    return ResourcePage(found, query.window, url: url)
  }

  private func response(_ status: Int, _ record: Resource, _ url: URL) -> HTTPResponse {
    HTTPResponse(
      status,
      headers: [
        "Content-Type": "application/json", "ETag": record.tag.text,
        "Last-Modified": min(record.modified, now()).httpText,
      ], body: record.content, url: url)
  }

  private static let preconditionFailed = Problem(
    412, "the condition of the request does not hold; fetch the resource and decide again")

  // MARK: Changing

  private mutating func change(_ request: HTTPRequest, _ route: ResourceRoute, _ place: Int) throws -> HTTPResponse {
    let conditions = Preconditions(request, now: now())
    let list = lists[place]
    guard case .record(_, let id) = route else {
      if !conditions.isEmpty {
        let page = try page(request.url, route, list)
        guard conditions.outcome(.init(tag: page.tag, modified: nil)) == .hold else { throw Self.preconditionFailed }
      }
      return try make(request, place)
    }
    let known = list[id]
    guard known != nil || request.method == "PUT" else { throw notFound }
    let state = known.map { Preconditions.State(tag: $0.tag, modified: $0.modified) }
    guard conditions.outcome(state) == .hold else { throw Self.preconditionFailed }
    switch (request.method, known) {
    case ("PATCH", let known?): return try patch(known, request, place)
    case ("DELETE", let known?):
      try commit(place) { $0.remove(known.id) }
      return HTTPResponse(204, url: request.url)
    default: return try replace(known, id, request, place)
    }
  }

  private mutating func make(_ request: HTTPRequest, _ place: Int) throws -> HTTPResponse {
    let list = lists[place]
    var object = try ContentCheck(request).object()
    if object["id"]?.isNull ?? true {
      let id = list.nextID(makeID)
      object = ArchiveObject([.init(key: "id", value: id)] + object.entries.filter { !ExactKey.isSame($0.key, "id") })
    }
    let record = try Resource(.object(object), modified: now())
    guard list[record.id] == nil else {
      throw Problem(409, "a record has this id already; another one, or none, is needed")
    }
    try commit(place) { $0.put(record) }
    var response = response(201, record, request.url)
    response.headers["Location"] = request.url.replacingPath([list.name, record.id]).absoluteString
    return response
  }

  private mutating func patch(_ known: Resource, _ request: HTTPRequest, _ place: Int) throws -> HTTPResponse {
    let patch = try ContentCheck(request).object()
    let record = try Resource(JSONMergePatch.apply(.object(patch), to: known.json), modified: now())
    return try put(record, over: known, request, place)
  }

  private mutating func replace(
    _ known: Resource?, _ id: String, _ request: HTTPRequest, _ place: Int
  ) throws -> HTTPResponse {
    var object = try ContentCheck(request).object()
    if object["id"] == nil {
      let value = known?.json["id"] ?? lists[place].id(ofText: id)
      object = ArchiveObject([.init(key: "id", value: value)] + object.entries)
    }
    let record = try Resource(.object(object), modified: now())
    guard let known else {
      guard ExactKey.isSame(record.id, id) else { throw Self.otherID }
      try commit(place) { $0.put(record) }
      var response = response(201, record, request.url)
      response.headers["Location"] = request.url.replacingPath([lists[place].name, id]).absoluteString
      return response
    }
    return try put(record, over: known, request, place)
  }

  private mutating func put(
    _ record: Resource, over known: Resource, _ request: HTTPRequest, _ place: Int
  ) throws -> HTTPResponse {
    guard ExactKey.isSame(record.id, known.id) else { throw Self.otherID }
    // A record with the same bytes counts as unchanged.
    guard record.tag != known.tag else { return response(200, known, request.url) }
    try commit(place) { $0.put(record) }
    return response(200, record, request.url)
  }

  private static let otherID = Problem(
    422, "the content has another id than the path; the same one, or none, is needed")

  /// Changes a list in memory and in the storage. If writing fails, nothing changes.
  private mutating func commit(_ place: Int, _ change: (inout ResourceList) -> Void) throws {
    var list = lists[place]
    change(&list)
    try storage?.write(list)
    lists[place] = list
  }
}
