public import Foundation
public import StrataCore

/// What a ``RemoteStore`` needs to know of a server.
///
///     let configuration = RemoteConfiguration(
///       baseURL: url, mappers: EntityMapper(Project.self), EntityMapper(Task.self, keys: ["desc": "description"]))
///
/// It is a value that nothing is checked about: ``RemoteStore`` says all that is wrong when it is made.
public struct RemoteConfiguration: Sendable {
  /// Where all paths begin; with a path of its own or none, with a slash at its end or without.
  public var baseURL: URL
  /// How the server has each entity, one mapper for each.
  public var mappers: [EntityMapper]
  /// Headers of every request. What carries a token belongs to ``authentication``.
  public var headers: HTTPHeaders = [:]
  /// Says who an account is to the server; asked for each account once.
  public var authentication: (@Sendable (_ account: String) -> RemoteAuthentication)?
  /// Reads the body of an answer: for servers that wrap records in another way, or speak something else than JSON. What it throws is
  /// the cause of `invalidBody`. Bodies are JSON unless given, of which `JSONReader` makes the value.
  public var decoder: (@Sendable (_ body: Data) throws -> ArchiveValue)?
  /// How often a request is tried, and how long is waited in between.
  public var retry = RemoteRetry()
  /// The greatest number of bytes that an answer may have.
  public var sizeLimit = 64 << 20
  /// How long one try may take.
  public var timeout: Duration = .seconds(60)
  /// The greatest number of pages of one list.
  public var pageLimit = 10_000
  /// How many requests of ``RemoteStore/send()`` may be in flight at the same time. With more than one, the order of changes is kept only
  /// between records that refer to each other.
  public var requestsAtOnce = 1
  /// What carries the requests.
  public var transport: any HTTPTransport
  /// Time and chance.
  public var clock = RemoteClock.system

  /// What is needed of a server. All else is a property with a default.
  ///
  /// - Parameters:
  ///   - baseURL: where all paths begin.
  ///   - mappers: how the server has each entity.
  ///   - headers: headers of every request.
  ///   - authentication: says who an account is to the server; asked for each account once.
  ///   - transport: what carries the requests.
  public init(
    baseURL: URL, mappers: EntityMapper..., headers: HTTPHeaders = [:],
    authentication: (@Sendable (_ account: String) -> RemoteAuthentication)? = nil,
    transport: any HTTPTransport = URLSessionTransport()
  ) {
    self.baseURL = baseURL
    self.mappers = mappers
    self.headers = headers
    self.authentication = authentication
    self.transport = transport
  }

  /// The URL of a path, whose components are taken as they are.
  func url(_ components: [String], query: [(String, String)] = []) -> URL {
    var base = baseURL.absoluteString
    // A query of the base has no place before a path.
    if let end = base.firstIndex(where: { $0 == "?" || $0 == "#" }) { base = String(base[..<end]) }
    while base.hasSuffix("/") { base.removeLast() }
    for component in components { base += "/" + Self.encoded(component) }
    if !query.isEmpty {
      base += "?" + query.map { "\(Self.encoded($0.0))=\(Self.encoded($0.1))" }.joined(separator: "&")
    }
    // All that is added is encoded.
    return URL(string: base) ?? baseURL
  }

  /// A text as one component of a path or a query: only what RFC 3986, section 2.3 calls unreserved stands for itself.
  private static func encoded(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        result += "%" + (digits.count == 1 ? "0" : "") + digits
      }
    }
    // A component of dots would lead up; a path knows no other spelling that does not.
    return result == "." || result == ".." ? result.replacingOccurrences(of: ".", with: "%2E") : result
  }
}
