import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Testing

@Suite("Features of AGEntityMapper")
struct GistTests {
  private static let tasks = #"[{"id": "1", "title": "Paint", "description": "the door", "project_id": "p"}]"#

  @Test("G-1: listed properties are read from their mapped keys and others from their own")
  func mapping() async throws {
    let office = try await Office(ModelServer(["todos": Self.tasks, "projects": #"[{"id": "p", "name": "House"}]"#]))
    try await office.remote.refresh(Project.self)
    try await office.remote.refresh(Todo.self)
    #expect(
      try await office.todo("1") == Todo(myId: "1", title: "Paint", desc: "the door", done: false, projectID: "p"))
  }

  @Test("G-2: the mapped keys are also used for sending")
  func bothWays() async throws {
    let office = try await Office(ModelServer(["todos": "[]"]))
    try await office.entities.save(Todo(myId: "x", title: "Sand", desc: "fine"))
    try await office.remote.send()
    let body = try #require(office.server.requests.first { $0.method == "POST" }?.body)
    #expect(
      try JSONReader().read(body)
        == ["title": "Sand", "description": "fine", "done": false, "project_id": .null])
  }

  @Test("G-3: a configuration has several mappers, one base URL, headers, and authentication per account")
  func configuration() async throws {
    let office = try await Office(ModelServer(["todos": "[]", "projects": "[]"]), account: "ann") { configuration in
      configuration.headers = ["X-App": "demo"]
      configuration.authentication = { account in .bearer(token: { "token of \(account)" }) }
    }
    try await office.remote.refresh(Todo.self)
    try await office.remote.use(account: "bob")
    try await office.remote.refresh(Project.self)
    #expect(
      office.server.requests.map { $0.headers["Authorization"] } == ["Bearer token of ann", "Bearer token of bob"])
    #expect(office.server.requests.allSatisfy { $0.headers["X-App"] == "demo" })
  }

  @Test(
    "G-5, G-6: unknown or ambiguous mapper keys throw when the store is created",
    arguments: [["desk": "description"], ["desc": "description", "title": "description"]])
  func typed(_ keys: [String: String]) async throws {
    let entities = try await Office(ModelServer([:])).entities
    var mapping: JSONMapping<Todo> = ["myId": "id"]
    for (key, path) in keys { mapping = mapping.merging(JSONMapping([key: .path(ValuePath(key: path))])) }
    let mapper = EntityMapper(Todo.self, keys: mapping)
    let error = await #expect(throws: RemoteError.self) {
      try await RemoteStore(
        entities,
        RemoteConfiguration(
          baseURL: ModelServer([:]).base, mappers: mapper, EntityMapper(Project.self, keys: ["myId": "id"])))
    }
    #expect((error?.code, error?.entity) == (.invalidConfiguration, "Todo"))
  }
}
