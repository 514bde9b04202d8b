import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOFoundationCompat
import Strata
import Testing

@testable import Recipes

@Suite("Hummingbird: bodies as JSON and as archives")
struct ServerTests {
  private let order = Order(id: 7, customer: "Ann", lines: [.init(id: 1, amount: 2)])
  private let archiveFields: HTTPFields = [.contentType: ModelCoder.archive, .accept: ModelCoder.archive]
  private let jsonFields: HTTPFields = [.contentType: "Application/JSON; charset=utf-8"]

  private let client = TestServer()

  private func problem(_ response: TestServer.Answer) throws -> BodyProblem.Document {
    #expect(response.headers[.contentType] == "application/problem+json")
    return try BodyProblem.Document(fromJSON: Data(buffer: response.body))
  }

  @Test("The server reads and writes a model as JSON")
  func json() async throws {
    let sent = try await client.executeRequest(
      uri: "/orders", method: .put, headers: jsonFields, body: ByteBuffer(data: order.jsonData()))
    #expect(sent.status == .ok && sent.headers[.contentType] == ModelCoder.json)
    #expect(try Order(fromJSON: Data(buffer: sent.body)) == order)
    let kept = try await client.executeRequest(uri: "/orders/7", method: .get, headers: [:], body: nil)
    #expect(kept.body == sent.body)
  }

  @Test("The server accepts an archive of version 1 and responds with version 2")
  func archive() async throws {
    let old = ModelRecord(typeName: "Order", modelVersion: 1, fields: [("id", 7), ("name", "Ann"), ("lines", [])])
    let body = ByteBuffer(data: try ArchiveEncoder().encode(old))
    let response = try await client.executeRequest(uri: "/orders", method: .put, headers: archiveFields, body: body)
    #expect(response.status == .ok && response.headers[.contentType] == ModelCoder.archive)
    let data = Data(buffer: response.body)
    #expect(try Stamp(of: data).modelVersion == 2)
    #expect(try ArchiveDecoder().decode(Order.self, from: data).customer == "Ann")
  }

  @Test("PATCH merges the given keys except the id, and an invalid patch changes nothing")
  func patch() async throws {
    _ = try await client.executeRequest(
      uri: "/orders", method: .put, headers: jsonFields, body: ByteBuffer(data: order.jsonData()))
    let patched = try await client.executeRequest(
      uri: "/orders/7", method: .patch, headers: jsonFields,
      body: ByteBuffer(string: #"{"id": 8, "customer": "Bea"}"#))
    #expect(try Order(fromJSON: Data(buffer: patched.body)) == Order(id: 7, customer: "Bea", lines: order.lines))
    let refused = try await client.executeRequest(
      uri: "/orders/7", method: .patch, headers: jsonFields,
      body: ByteBuffer(string: #"{"customer": "Cid", "lines": "secret"}"#))
    #expect(refused.status == .badRequest)
    #expect(try problem(refused).errors.map(\.path) == ["lines"])
    let kept = try await client.executeRequest(uri: "/orders/7", method: .get, headers: [:], body: nil)
    #expect(kept.body == patched.body)
    let none = try await client.executeRequest(
      uri: "/orders/8", method: .patch, headers: jsonFields, body: ByteBuffer(string: "{}"))
    #expect(none.status == .notFound)
  }

  @Test(
    "An unreadable body returns 400 with the path, without repeating the body",
    arguments: [
      (#"{"id": 7, "customer": "secret", "lines": [{"id": 1, "amount": "secret"}]}"#, "lines[0].amount"),
      (#"{"id": 7, "lines": [{"id": 1, "amount": 3}]}"#, "customer"),
      (#"{"id": 7, "customer": "secret", "customer": "secret"}"#, "customer"),
      (#"{"id": 7, "customer": "secret""#, ""),
    ])
  func refused(_ body: String, _ path: String) async throws {
    let response = try await client.executeRequest(
      uri: "/orders", method: .put, headers: jsonFields, body: ByteBuffer(string: body))
    #expect(response.status == .badRequest)
    let problem = try problem(response)
    #expect(problem.status == 400)
    #expect(problem.errors.map(\.path) == [path] && problem.errors.allSatisfy { !$0.detail.isEmpty })
    #expect(!String(buffer: response.body).contains("secret"))
  }

  @Test("A body that violates rules returns 400 with all violations", arguments: [true, false])
  func invalid(asArchive: Bool) async throws {
    let order = Order(id: 7, customer: "", lines: [.init(id: 1, amount: 2), .init(id: 2, amount: 987_654)])
    let body = asArchive ? try ArchiveEncoder().encode(order) : try order.jsonData()
    let response = try await client.executeRequest(
      uri: "/orders", method: .put, headers: asArchive ? archiveFields : jsonFields, body: ByteBuffer(data: body))
    #expect(response.status == .badRequest)
    let errors = try problem(response).errors
    #expect(errors.first == BodyProblem.Place(path: "customer", detail: "must not be empty"))
    #expect(errors.map(\.path) == ["customer", "lines[1].amount"])
    #expect(!String(buffer: response.body).contains("987"))
  }

  @Test("Damaged and newer archives return 400, oversized ones 413 and other types 415")
  func refusedArchives() async throws {
    let archive = try ArchiveEncoder().encode(order)
    let newer = ModelRecord(typeName: "Order", modelVersion: 3, fields: [("id", 7), ("customer", "secret")])
    let bomb = try ArchiveEncoder().encode(ArchiveValue.string(String(repeating: "a", count: 20 << 20)))
    for (body, status) in [
      (archive.dropLast(3), HTTPResponse.Status.badRequest), (try ArchiveEncoder().encode(newer), .badRequest),
      (Data(), .badRequest), (bomb, .contentTooLarge),
    ] {
      let response = try await client.executeRequest(
        uri: "/orders", method: .put, headers: archiveFields, body: ByteBuffer(data: body))
      #expect(response.status == status)
      #expect(try problem(response).errors.count == 1 && !String(buffer: response.body).contains("secret"))
    }
    let other = try await client.executeRequest(
      uri: "/orders", method: .put, headers: [.contentType: "text/plain"], body: ByteBuffer(data: archive))
    #expect(other.status == .unsupportedMediaType)
    #expect(String(buffer: other.body).contains("vnd.strata.archive"))
    let large = try await client.executeRequest(
      uri: "/orders", method: .put, headers: jsonFields, body: ByteBuffer(repeating: 0x20, count: 3 << 20))
    #expect(large.status == .contentTooLarge)
  }

  @Test(
    "The Accept header selects JSON or archives",
    arguments: [
      ([], false), (["*/*"], false), (["application/json"], false), ([ModelCoder.archive], true),
      (["text/html, application/*;q=0.8"], false), (["\(ModelCoder.archive), */*;q=0.1"], true),
      (["\(ModelCoder.archive);q=0.4, application/json;q=0.5"], false),
      (["application/json", ModelCoder.archive], true),
      (["\(ModelCoder.archive); q=0"], false), (["\(ModelCoder.archive);q=x"], false),
    ])
  func accept(_ accept: [String], _ isArchive: Bool) {
    #expect(ModelCoder.prefersArchive(accept) == isArchive)
  }
}
