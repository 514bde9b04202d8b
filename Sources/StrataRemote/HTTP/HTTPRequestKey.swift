internal import Foundation

/// The properties that two requests must have in common to share one answer.
struct HTTPRequestKey: Sendable, Hashable {
  private let scope: String
  private let method: String
  private let url: String
  private let values: [String: [String]]

  init(_ request: HTTPRequest, scope: String, varyingBy names: [String]) {
    (self.scope, method) = (scope, request.method)
    url = request.url.absoluteString
    var values: [String: [String]] = [:]
    for name in Self.always + names { values[name.lowercased()] = request.headers.values(of: name) }
    self.values = values
  }

  /// An answer to a condition or a range is valid only for the same condition or range (RFC 9110, sections 13.1 and
  /// 14.2).
  private static let always = [
    "accept", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "range",
  ]
}
