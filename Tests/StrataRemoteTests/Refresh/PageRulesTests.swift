import Foundation
import GRDB
import StrataCore
import StrataStore
import Testing

@testable import StrataRemote

/// Tests lists that the server splits into pages (F-14).
@Suite("HTTP rules: pages", .timeLimit(.minutes(20)))
struct PageRulesTests {
  /// The ways to paginate a list of ten records with two per page.
  enum Way: String, CaseIterable {
    case link, page, offset, cursor

    var pagination: RemotePagination {
      switch self {
      case .link: .linkHeader
      case .page: .page(of: 2)
      case .offset: .offset(of: 2)
      case .cursor:
        .cursor { response in response.headers["X-Next"].flatMap { URL(string: "?page=\($0)") } }
      }
    }

    /// The number of the requested page, counted from 1.
    func number(_ request: HTTPRequest) -> Int {
      func value(_ name: String) -> Int? { request.url.queryValue(name).flatMap { Int($0) } }
      return self == .offset ? (value("offset") ?? 0) / 2 + 1 : value("page") ?? 1
    }

    func answer(_ request: HTTPRequest, of pages: Int = 5) -> HTTPResponse {
      let number = number(request)
      var headers: HTTPHeaders = ["ETag": "\"\(number)\"", "Cache-Control": "max-age=60"]
      if number < pages {
        if self == .link { headers["Link"] = "</api/todos?page=\(number + 1)>; rel=\"next\"" }
        if self == .cursor { headers["X-Next"] = String(number + 1) }
      }
      let ids = (number * 2 - 1...number * 2).map { String(format: "%02d", $0) }
      return request.answered(number <= pages ? Desk.list(ids) : "[]", headers)
    }
  }

  private static let all = (1...10).map { String(format: "%02d", $0) }

  @Test(
    "F-14, F-15: all pages of a list are merged as one list, and later requests are unconditional",
    arguments: Way.allCases)
  func wholeLists(way: Way) async throws {
    let desk = try await Desk {
      $0.mappers = Desk.mappers(way.pagination)
    } script: { request, number in
      number == 1 && way == .link ? request.answered(Desk.list("99")) : way.answer(request)
    }
    if way == .link { try await desk.remote.refresh(Todo.self) }
    let refresh = try await desk.remote.refresh(Todo.self)
    #expect((refresh.inserted, refresh.deleted) == (10, way == .link ? 1 : 0))
    #expect(refresh.ids == Self.all && refresh.pages == (way == .page || way == .offset ? 6 : 5))
    #expect(try await desk.ids() == Self.all)
    #expect(try await desk.remote.refresh(Todo.self).unchanged == 10)
    #expect(desk.requests.flatMap(\.conditions) == [])
  }

  @Test(
    "F-15: if a page fails, nothing of the list is merged or deleted", arguments: Way.allCases,
    ["500", "404", "204", "", "<html>", "[{\"id\": \"05\", \"ti", "[{\"title\": \"no id\"}]", "lost"])
  func failures(way: Way, fault: String) async throws {
    let desk = try await Desk {
      $0.mappers = Desk.mappers(way.pagination)
    } script: { request, _ in
      guard way.number(request) == 3 else { return way.answer(request) }
      if fault == "lost" { throw RemoteError(.cutOff, "x") }
      return Int(fault).map { request.answered(status: $0) } ?? request.answered(fault, way.answer(request).headers)
    }
    try await desk.office.entities.save(Todo(myId: "mine", title: "mine"))
    _ = try await desk.remote.apply(Data(Desk.list("01", "98").utf8), to: Todo.self)
    let error = await #expect(throws: RemoteError.self) { try await desk.remote.refresh(Todo.self) }
    #expect(error?.entity == "Todo")
    #expect(try await desk.ids() == ["01", "98", "mine"])
    // A missing id is noticed only when the whole list is merged, so all pages are requested in that case.
    #expect(desk.requests.count <= 3 || fault.contains("no id"))
  }

  @Test(
    "A cycle of page links throws invalidResponse, and nothing is merged",
    arguments: ["?page=1", "?page=2", "?page=2#x", "/api/todos"])
  func circles(next: String) async throws {
    let desk = try await Desk {
      $0.mappers = Desk.mappers(.linkHeader)
    } script: { request, number in
      let target = number < 2 ? "?page=2" : next
      return request.answered(Desk.list("\(number)"), ["Link": "<\(target)>; rel=next"])
    }
    let error = await #expect(throws: RemoteError.self) {
      try await desk.remote.refresh(Todo.self, .at("todos", query: ["page": "1"]))
    }
    #expect(error?.code == .invalidResponse && desk.requests.count <= 3)
    #expect(try await desk.ids() == [])
  }

  @Test("An endless list throws tooLarge at the page limit")
  func endless() async throws {
    let desk = try await Desk {
      $0.mappers = Desk.mappers(.page(of: 1))
      $0.pageLimit = 7
    } script: { request, number in
      request.answered(Desk.list("\(number)"))
    }
    let error = await #expect(throws: RemoteError.self) { try await desk.remote.refresh(Todo.self) }
    #expect(error?.code == .tooLarge && desk.requests.count == 7)
    #expect(try await desk.ids() == [])
  }

  @Test(
    "A page on another host is not requested and receives no token",
    arguments: [
      "https://other.example/t", "//other.example/t", "http://example.com/api/t", "https://example.com:444/t",
    ])
  func otherHosts(target: String) async throws {
    let desk = try await Desk {
      $0.mappers = Desk.mappers(.linkHeader)
      $0.authentication = { _ in .bearer(token: { "secret" }) }
    } script: { request, _ in
      request.answered(Desk.list("1"), ["Link": "<\(target)>; rel=next"])
    }
    let error = await #expect(throws: RemoteError.self) { try await desk.remote.refresh(Todo.self) }
    #expect(error?.code == .invalidResponse)
    #expect(desk.requests.map { $0.url.host() } == ["example.com"] && desk.requests[0].headers["Authorization"] != nil)
    #expect(try await desk.ids() == [])
  }

  @Test(
    "F-15: a list with a next link is partial, in any form and for any mapper",
    arguments: ["</api/todos?page=2>", "<https://other.example/t>", "<:::>"], [true, false])
  func parts(link: String, isPaged: Bool) async throws {
    let desk = try await Desk {
      $0.mappers = Desk.mappers(isPaged ? .page(of: 2) : .none)
    } script: { request, number in
      if number == 1 { return request.answered(#"{"id": "3", "title": "c"}"#) }
      let isLast = request.url.queryValue("page").map { $0 == "2" } ?? true
      return request.answered(
        isLast ? Desk.list("1") : Desk.list("1", "2"), isLast ? ["Link": "\(link); rel=\"next\""] : [:])
    }
    _ = try await desk.remote.apply(Data(Desk.list("8", "9").utf8), to: Todo.self)
    _ = try await desk.remote.refresh(Todo.self, .one("3"))
    let refresh = try await desk.remote.refresh(Todo.self)
    #expect((refresh.outcome, refresh.deleted) == (.merged, 0))
    #expect(try await desk.ids() == (isPaged ? ["1", "2", "3", "8", "9"] : ["1", "3", "8", "9"]))
  }

  @Test("A list of one page is revalidated with its ETag, for every kind of pagination", arguments: Way.allCases)
  func onePage(way: Way) async throws {
    let desk = try await Desk {
      $0.mappers = Desk.mappers(way.pagination)
    } script: { request, _ in
      request.conditions.isEmpty ? request.answered(Desk.list("1"), ["ETag": "\"a\""]) : request.answered(status: 304)
    }
    for outcome in [RemoteRefresh.Outcome.merged, .notModified] {
      #expect(try await desk.remote.refresh(Todo.self).outcome == outcome)
    }
  }
}
