import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOFoundationCompat
import Strata

// Recipes:begin Server.coder
/// Reads and writes bodies as JSON or as archives, depending on the headers of the request.
struct ModelCoder: RequestDecoder, ResponseEncoder {
  static let json = "application/json"
  /// A media type in the vendor tree (RFC 6838, section 3.2). An archive is a gzip file, but gzip is a part of its format, and not a
  /// `Content-Encoding`. If an intermediary decompressed the archive, the stamp would be lost.
  static let archive = "application/vnd.strata.archive"

  /// The limits for the sizes that a body claims. The context limits the size of the request before the body is decoded.
  var limits: ArchiveLimits = {
    var limits = ArchiveLimits()
    (limits.inflatedSize, limits.depth, limits.count) = (16 << 20, 64, 100_000)
    return limits
  }()

  func decode<T: Decodable>(_ type: T.Type, from request: Request, context: some RequestContext) async throws -> T {
    let buffer = try await request.body.collect(upTo: context.maxUploadSize)
    let body = Data(buffer: buffer, byteTransferStrategy: .noCopy)
    guard let model = type as? any Archivable.Type else { return try JSONDecoder().decode(type, from: body) }
    do {
      guard let value = try read(model, from: body, request.headers[.contentType]) as? T else {
        throw HTTPError(.internalServerError)
      }
      return value
    } catch let error as ArchiveError {
      throw BodyProblem(error) ?? error
    }
  }

  private func read(_ type: (some Archivable).Type, from body: Data, _ contentType: String?) throws -> any Archivable {
    switch Self.parts(contentType ?? "").first {
    case Self.archive:
      return try ArchiveDecoder(limits: limits).decode(type, from: body)
    case Self.json:
      var reader = JSONReader()
      reader.limits = limits
      return try reader.read(type, from: body)
    default:
      throw HTTPError(.unsupportedMediaType, message: "the content type must be \(Self.json) or \(Self.archive)")
    }
  }

  func encode(_ value: some Encodable, from request: Request, context: some RequestContext) throws -> Response {
    // Hummingbird's own errors are Codable, but they are not models.
    guard let model = value as? any Archivable else {
      return try JSONEncoder().encode(value, from: request, context: context)
    }
    let sendsArchive = Self.prefersArchive(request.headers[values: .accept])
    let body = sendsArchive ? try ArchiveEncoder().encode(model) : try JSONWriter().write(model)
    let headers: HTTPFields = [
      .contentType: sendsArchive ? Self.archive : Self.json, .contentLength: "\(body.count)", .vary: "Accept",
    ]
    return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(data: body)))
  }

  /// Returns `true` if `Accept` contains the type of archives, and does not contain JSON with a greater weight (RFC 9110, section
  /// 12.5.1). A client that names neither type receives JSON.
  static func prefersArchive(_ accept: [String]) -> Bool {
    var weights: [String: Double] = [:]
    for range in accept.joined(separator: ",").split(separator: ",") {
      let parts = parts(range)
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 }
      if let type = parts.first { weights[type] = weight ?? 1 }
    }
    guard let weight = weights[archive], weight > 0 else { return false }
    return weight >= weights[json] ?? 0
  }

  /// Returns the media type and the parameters of a header value, in lower case.
  private static func parts(_ header: some StringProtocol) -> [String] {
    header.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
  }
}
// Recipes:end

// Recipes:begin Server.errors
/// A problem document (RFC 9457) that reports the errors of a body to its sender.
struct BodyProblem: HTTPResponseError {
  @Model(version: 1)
  struct Document {
    var title: String
    var status: Int
    var errors: [Place]
  }

  @Model(version: 1)
  struct Place: Equatable {
    /// The path of the invalid value, such as `lines[2].amount`. The path is empty if the error concerns the whole body.
    var path: String
    /// The description of the error. It may contain keys, types and positions in the text, but no values.
    var detail: String
  }

  let status: HTTPResponse.Status
  let document: Document

  /// - Returns: `nil` if the request's body did not cause the error. For example, a mistake in a model's declaration is a server error, so
  ///   the response has the status 500.
  init?(_ error: ArchiveError) {
    switch error.code {
    case .invalidSchema, .invalidMigration, .invalidMapping, .notEncodable, .fileSystem, .fileInUse: return nil
    case .limitExceeded: status = .contentTooLarge
    default: status = .badRequest
    }
    // The text of an error from a hook or a rule may contain values, so it is omitted. The reason of an InvalidValue is meant to be shown.
    let places =
      error.code == .invalid
      ? error.failures.map {
        Place(path: $0.pathDescription, detail: ($0.error as? InvalidValue)?.reason ?? "is invalid")
      }
      : error.all.map { Place(path: $0.jsonPathDescription, detail: $0.reason) }
    document = Document(title: "The body cannot be read", status: status.code, errors: places)
  }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    let body = ByteBuffer(data: try document.jsonData())
    return Response(
      status: status, headers: [.contentType: "application/problem+json"], body: ResponseBody(byteBuffer: body))
  }
}
// Recipes:end

// Recipes:begin Server.routes
/// Hummingbird requires `Codable` for the types that it decodes. The coder uses the fields of the model instead.
@Model(version: 2)
struct Order: Equatable, ResponseCodable {
  @Model(version: 1)
  struct Line: Equatable, Codable {
    let id: Int
    var amount: Int
  }

  let id: Int
  var customer: String
  var lines: [Line] = []
}

extension Order: Validating {
  static let validation = Validation<Order>(.check("customer", \.customer, .nonEmpty))
}

extension Order.Line: Validating {
  static let validation = Validation<Order.Line>(.check("amount", \.amount, .range(1...1000)))
}

extension Order: Migratable {
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("name", to: "customer")))
}

/// The context of each request. It specifies the coder.
struct ModelContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  var requestDecoder: ModelCoder { ModelCoder() }
  var responseEncoder: ModelCoder { ModelCoder() }

  init(source: ApplicationRequestContextSource) { coreContext = CoreRequestContextStorage(source: source) }
}

actor Orders {
  private var orders: [Int: Order] = [:]

  func put(_ order: Order) { orders[order.id] = order }

  /// Merges only the keys in the document. If one value does not fit, nothing is changed. The id is part of the URL, so a document
  /// cannot change it.
  func merge(_ json: Data, into id: Int) throws -> Order? {
    guard var order = orders[id] else { return nil }
    do { try order.mergeValues(fromJSON: json, forKeys: ["customer", "lines"]) } catch let error as ArchiveError {
      throw BodyProblem(error) ?? error
    }
    orders[id] = order
    return order
  }

  func order(_ id: Int) -> Order? { orders[id] }
}

func orderRoutes(_ orders: Orders) -> Router<ModelContext> {
  let router = Router(context: ModelContext.self)
  router.put("orders") { request, context in
    let order = try await request.decode(as: Order.self, context: context)
    await orders.put(order)
    return order
  }
  router.get("orders/:id") { _, context in
    guard let order = await orders.order(try context.parameters.require("id", as: Int.self)) else {
      throw HTTPError(.notFound)
    }
    return order
  }
  router.patch("orders/:id") { request, context in
    let body = Data(buffer: try await request.body.collect(upTo: context.maxUploadSize), byteTransferStrategy: .noCopy)
    guard let order = try await orders.merge(body, into: context.parameters.require("id", as: Int.self)) else {
      throw HTTPError(.notFound)
    }
    return order
  }
  return router
}
// Recipes:end
