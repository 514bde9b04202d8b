/// How requests are authenticated: with a bearer token, or by a closure.
public struct RemoteAuthentication: Sendable {
  enum Scheme: Sendable {
    case bearer(BearerToken, canRefresh: Bool)
    case custom(@Sendable (inout HTTPRequest) async throws -> Void)
  }

  let scheme: Scheme

  /// Sends `Authorization: Bearer` with a token (RFC 6750, section 2.1).
  ///
  /// If several requests are rejected with a 401, the token is renewed only once. Each request is then repeated once,
  /// whatever its method, because the server has not processed it. A second 401 is an error with the code
  /// `unauthorized`. The renewal continues even if all callers that wait for it are cancelled. If the renewal fails,
  /// every waiting caller gets `unauthorized`, with the renewal's error as the cause.
  ///
  /// - Parameters:
  ///   - token: returns the token before each attempt. If the closure returns `nil`, the request is sent without a
  ///     token. An error that the closure throws becomes the cause of `unauthorized`.
  ///   - refresh: obtains a new token to replace the rejected one, and stores it. The closure returns `nil` if there is
  ///     no new token. The closure is not called if `token` returns a different token in the meantime.
  public static func bearer(
    token: @Sendable @escaping () async throws -> String?,
    refresh: (@Sendable (_ rejected: String) async throws -> String?)? = nil
  ) -> RemoteAuthentication {
    RemoteAuthentication(scheme: .bearer(BearerToken(token: token, refresh: refresh), canRefresh: refresh != nil))
  }

  /// Lets a closure modify each request before every attempt. An error that the closure throws becomes the cause of
  /// `unauthorized`.
  public static func custom(_ authorize: @Sendable @escaping (inout HTTPRequest) async throws -> Void)
    -> RemoteAuthentication
  {
    RemoteAuthentication(scheme: .custom(authorize))
  }

  /// Authorizes a request. Returns the credential to renew if the request is rejected, or `nil` if the credential
  /// cannot be renewed.
  ///
  /// - Throws: ``RemoteError`` with the code `unauthorized`; `CancellationError`.
  func authorize(_ request: inout HTTPRequest) async throws -> BearerToken.Credential? {
    do {
      switch scheme {
      case .custom(let authorize):
        try await authorize(&request)
        return nil
      case .bearer(let bearer, let canRefresh):
        guard let credential = try await bearer.credential() else { return nil }
        request.headers["Authorization"] = "Bearer \(credential.token)"
        return canRefresh ? credential : nil
      }
    } catch {
      // `CancellationError` is rethrown only if this task is cancelled. If the app's closure throws it for another
      // reason, it is an ordinary failure.
      try Task.checkCancellation()
      throw RemoteError(
        .unauthorized, "the request could not be authorized; provide valid credentials", underlying: error)
    }
  }

  /// Returns a new token to use instead of a rejected token, or `nil` if the app provides no closure that obtains new
  /// tokens.
  func renew(_ rejected: BearerToken.Credential) async throws -> String? {
    guard case .bearer(let bearer, true) = scheme else { return nil }
    return try await bearer.renewed(rejected)
  }
}
