import Foundation
import GRDB
import StrataCore
import StrataStore

@testable import StrataRemote

/// A store with tasks and projects. A closure acts as its server.
struct Desk {
  let office: Office
  let transport: ScriptedTransport
  let clock: ScriptedClock

  var remote: RemoteStore { office.remote }
  var requests: [HTTPRequest] { transport.requests }

  init(
    writer: (any DatabaseWriter)? = nil, account: String = "", clock: ScriptedClock = ScriptedClock(),
    _ configure: (inout RemoteConfiguration) -> Void = { _ in }, script: @escaping ScriptedTransport.Script
  ) async throws {
    let transport = ScriptedTransport(script)
    (self.transport, self.clock) = (transport, clock)
    office = try await Office(ModelServer(), writer: writer, account: account) { configuration in
      configuration.transport = transport
      configuration.clock = clock.clock
      configure(&configuration)
    }
  }

  func ids() async throws -> [String] { try await office.todos().map(\.myId) }

  func titles() async throws -> [String] { try await office.todos().map(\.title) }

  /// The mappers of ``Office``, with the given pagination for tasks.
  static func mappers(_ pagination: RemotePagination) -> [EntityMapper] {
    [
      Office.mappers[0],
      EntityMapper(
        Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"], pagination: pagination),
    ]
  }

  /// A JSON list of records with these ids.
  static func list(_ ids: String...) -> String { list(ids) }

  static func list(_ ids: [String]) -> String {
    "[" + ids.map { #"{"id": "\#($0)", "title": "task \#($0)"}"# }.joined(separator: ", ") + "]"
  }
}

extension HTTPRequest {
  func answered(_ body: String = "", _ headers: HTTPHeaders = [:], status: Int = 200) -> HTTPResponse {
    HTTPResponse(status, headers: headers, body: Data(body.utf8), url: url)
  }

  /// The conditional headers, one per element.
  var conditions: [String] {
    ["If-None-Match", "If-Modified-Since"].flatMap { name in headers.values(of: name).map { "\(name): \($0)" } }
  }
}
