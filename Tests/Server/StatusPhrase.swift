/// The reason phrases of the status codes in use (RFC 9110, section 15).
enum StatusPhrase {
  private static let phrases = [
    200: "OK", 201: "Created", 204: "No Content", 304: "Not Modified", 400: "Bad Request", 401: "Unauthorized",
    404: "Not Found", 405: "Method Not Allowed", 409: "Conflict", 412: "Precondition Failed", 413: "Content Too Large",
    415: "Unsupported Media Type", 421: "Misdirected Request", 422: "Unprocessable Content",
    500: "Internal Server Error", 503: "Service Unavailable",
  ]

  /// `Not Found` for 404.
  static func of(_ status: Int) -> String { phrases[status] ?? "Status \(status)" }
}
