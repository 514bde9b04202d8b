/// How requests say who sends them.
public struct RemoteAuthentication: Sendable {
  enum Kind: Sendable {
    case bearer(BearerToken, canRefresh: Bool)
    case custom(@Sendable (inout HTTPRequest) async throws -> Void)
  }

  let kind: Kind

  /// Sends `Authorization: Bearer` with a token (RFC 6750, section 2.1).
  ///
  /// After an answer with status 401 the token is renewed, once for all requests that it was rejected for, and each of them is repeated
  /// once, whatever its method: the server has not processed it. A second 401 is the error `unauthorized`. Renewing goes on where
  /// those who wait for it are cancelled, and when it fails, all who wait get `unauthorized` with its error as the cause.
  ///
  /// - Parameters:
  ///   - token: the token, asked for before each attempt; without one the request is sent without it. What it throws becomes the
  ///     cause of `unauthorized`.
  ///   - refresh: gets a new token in place of the rejected one, and stores it; `nil` as its result where there is none. Not called
  ///     where `token` meanwhile has another one.
  public static func bearer(
    token: @Sendable @escaping () async throws -> String?,
    refresh: (@Sendable (_ rejected: String) async throws -> String?)? = nil
  ) -> RemoteAuthentication {
    RemoteAuthentication(kind: .bearer(BearerToken(token: token, refresh: refresh), canRefresh: refresh != nil))
  }

  /// Lets a closure change each request before it is sent, each attempt anew. What it throws becomes the cause of `unauthorized`.
  public static func custom(_ authorize: @Sendable @escaping (inout HTTPRequest) async throws -> Void)
    -> RemoteAuthentication
  {
    RemoteAuthentication(kind: .custom(authorize))
  }

  /// Puts what is needed into a request, and returns what can be renewed if it is rejected; `nil` where nothing can.
  ///
  /// - Throws: ``RemoteError`` with the code `unauthorized`; `CancellationError`.
  func authorize(_ request: inout HTTPRequest) async throws -> BearerToken.Credential? {
    do {
      switch kind {
      case .custom(let authorize):
        try await authorize(&request)
        return nil
      case .bearer(let bearer, let canRefresh):
        guard let credential = try await bearer.credential() else { return nil }
        request.headers["Authorization"] = "Bearer \(credential.token)"
        return canRefresh ? credential : nil
      }
    } catch {
      // Of the caller alone: one of the app's own is a failure like any other.
      try Task.checkCancellation()
      throw RemoteError(
        .unauthorized, "the request could not be authorized; what it needs for that must be there", underlying: error)
    }
  }

  /// Gets another token in place of a rejected one.
  func renew(_ rejected: BearerToken.Credential) async throws -> String? {
    guard case .bearer(let bearer, true) = kind else { return nil }
    return try await bearer.renewed(rejected)
  }
}
