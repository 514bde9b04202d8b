/// How a server answers.
struct ResourceOptions: Sendable {
  /// What requests must bring as a bearer token (RFC 6750); `nil` for none.
  var token: String?
  /// For how many seconds an answer is fresh; `nil` where it must be asked for again each time.
  var maxAge: Int?
  /// The size of the pages where none is asked for; `nil` for whole lists.
  var pageSize: Int?
  /// The greatest number of bytes that the content of a request may have.
  var sizeLimit = 16 << 20
}
