/// Settings of the server.
struct ResourceOptions: Sendable {
  /// The required bearer token (RFC 6750), or `nil` if none is required.
  var token: String?
  /// The number of seconds for which a response is fresh, or `nil` if it must be revalidated each time.
  var maxAge: Int?
  /// The default page size, or `nil` for whole lists.
  var pageSize: Int?
  /// The largest accepted content of a request, in bytes.
  var sizeLimit = 16 << 20
}
