import FlyingFox
import FlyingSocks
import Foundation
import Strata
import Synchronization
import Testing

@testable import Recipes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A server with one document at 127.0.0.1. It returns 304 if the request contains the current ETag.
private final class DocumentServer: Sendable {
  struct State {
    var tag: String?
    var body: String
    var failure: Int?
    /// The status of each response.
    var statuses: [Int] = []
  }

  struct NoAddress: Error {}

  let url: URL
  private let box: Box
  private let task: Task<Void, any Error>

  private final class Box: Sendable {
    let state: Mutex<State>

    init(_ state: State) { self.state = Mutex(state) }

    func answer(_ tag: String?) -> HTTPResponse {
      state.withLock { state in
        let isKnown = tag != nil && tag == state.tag
        let status = state.failure ?? (isKnown ? 304 : 200)
        state.statuses.append(status)
        var headers: HTTPHeaders = [.contentType: "application/json"]
        headers[HTTPHeader("ETag")] = state.tag
        let body = status == 304 ? Data() : Data(state.body.utf8)
        return HTTPResponse(statusCode: HTTPStatusCode(status, phrase: "x"), headers: headers, body: body)
      }
    }
  }

  init(tag: String?, body: String) async throws {
    let box = Box(State(tag: tag, body: body))
    let server = HTTPServer(
      address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled,
      handler: ClosureHTTPHandler { box.answer($0.headers[HTTPHeader("If-None-Match")]) })
    self.box = box
    task = Task { try await server.run() }
    try await server.waitUntilListening(timeout: 60)
    guard case .ip4(_, let port) = await server.listeningAddress, let url = URL(string: "http://127.0.0.1:\(port)/7")
    else {
      throw NoAddress()
    }
    self.url = url
  }

  deinit { task.cancel() }

  func withState<R: Sendable>(_ body: (inout State) -> R) -> R {
    box.state.withLock { body(&$0) }
  }
}

@MainActor
@Suite("URLSession: fetch and merge")
struct ConditionalFetchTests {
  private let article = Article(id: 7, title: "a", note: "mine")

  @Test("A fetch merges only the keys that the server sent, and an unchanged document returns 304")
  func conditional() async throws {
    let server = try await DocumentServer(tag: #""1""#, body: #"{"id": 7, "title": "b"}"#)
    let screen = ArticleScreen(article, at: server.url)
    #expect(try await screen.refresh()?.changedKeys == ["title"])
    #expect(screen.article.model == Article(id: 7, title: "b", note: "mine") && screen.article.tag == #""1""#)
    screen.edit { $0.note = "edited" }
    #expect(try await screen.refresh() == nil)
    server.withState { ($0.tag, $0.body) = (#""2""#, #"{"title": "c", "note": null}"#) }
    #expect(try await screen.refresh()?.changedKeys == ["title", "note"])
    #expect(screen.article.model == Article(id: 7, title: "c", note: nil) && screen.article.tag == #""2""#)
    #expect(server.withState(\.statuses) == [200, 304, 200])
  }

  @Test("A merge keeps an edit that was made during the request")
  func editedMeanwhile() async throws {
    let server = try await DocumentServer(tag: nil, body: #"{"title": "b"}"#)
    var fetched = Fetched(article)
    let answer = try await URLSession.shared.answer(from: server.url, unless: nil)
    fetched.model.note = "edited"
    #expect(try fetched.merge(answer)?.changedKeys == ["title"])
    #expect(fetched.model == Article(id: 7, title: "b", note: "edited") && fetched.tag == nil)
  }

  @Test("A document that cannot be decoded changes nothing and is requested again")
  func refused() async throws {
    let server = try await DocumentServer(tag: #""1""#, body: #"{"title": 1}"#)
    let screen = ArticleScreen(article, at: server.url)
    await #expect(throws: ArchiveError.self) { try await screen.refresh() }
    #expect(screen.article.model == article && screen.article.tag == nil)
    server.withState { $0.body = #"{"title": "b"}"# }
    #expect(try await screen.refresh()?.changedKeys == ["title"])
    #expect(server.withState(\.statuses) == [200, 200])
  }

  @Test("Statuses other than 200 and 304, and 304 without an ETag, throw an error", arguments: [404, 500, 304])
  func failures(status: Int) async throws {
    let server = try await DocumentServer(tag: nil, body: "<html>")
    server.withState { $0.failure = status }
    let screen = ArticleScreen(article, at: server.url)
    let error = await #expect(throws: FetchError.self) { try await screen.refresh() }
    #expect(error?.status == status && error?.description.contains("\(status)") == true)
    #expect(screen.article.model == article && screen.article.tag == nil)
  }
}
