import Foundation
import StrataCore
import StrataTestSupport
import Testing

@testable import StrataRemote

/// These tests also run under the thread sanitizer.
@Suite(.timeLimit(.minutes(20)))
struct RemoteConcurrencyTests {
  private let url: URL

  init() throws { url = try #require(URL(string: "https://a.example/")) }

  @Test func manyTasksShareATokenThatIsRenewedAgainAndAgain() async throws {
    let transport = ScriptedTransport { request, number in
      HTTPResponse(number % 10 == 0 ? 401 : 200, url: request.url)
    }
    let renewals = Mutex(0)
    let authentication = RemoteAuthentication.bearer(token: { "t" }) { token in
      renewals.withLock { $0 += 1 }
      return token + "x"
    }
    let client = HTTPClient(transport: transport, authentication: authentication, sizeLimit: 1, timeout: .seconds(1))
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<100 {
        group.addTask {
          for _ in 0..<5 {
            // Two 401 responses in a row make a request fail. That can happen by chance here, so errors are ignored.
            _ = try? await client.send(HTTPRequest("GET", url))
          }
        }
      }
    }
    // Each 401 renews the token at most once.
    #expect(1...(transport.requests.count / 10) ~= renewals.withLock { $0 })
  }
}
