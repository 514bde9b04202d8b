/// Holds a bearer token and renews it. If the server rejects several requests with the same token, the token is renewed
/// only once.
actor BearerToken {
  typealias Refresh = @Sendable (_ rejected: String) async throws -> String?

  /// The token that a request was sent with, and the number of failed renewals at that time.
  struct Credential: Sendable {
    let token: String
    /// The number of renewals that had failed before the request was sent. If a renewal of this token has failed since
    /// then, the request fails with the error of that renewal instead of starting another one.
    let failures: Int
  }

  private let token: @Sendable () async throws -> String?
  private let refresh: Refresh?
  private var running: [String: SharedTask<String>] = [:]
  /// The tokens that renewals have replaced, oldest first. If the app still returns one of them, `latest` is used
  /// instead.
  private var retired: [String] = []
  private var latest: String?
  private var failures = 0
  private var failure: (token: String, number: Int, error: RemoteError)?

  init(token: @Sendable @escaping () async throws -> String?, refresh: Refresh?) {
    (self.token, self.refresh) = (token, refresh)
  }

  /// Returns the token for a request, or `nil` if the app has no token.
  func credential() async throws -> Credential? {
    guard let given = try await token() else { return nil }
    return Credential(token: newer(than: given) ?? given, failures: failures)
  }

  /// Returns a new token to use instead of a rejected token.
  ///
  /// - Throws: ``RemoteError`` with the code `unauthorized` if no new token can be obtained; `CancellationError` if the
  ///   caller is cancelled, in which case the renewal continues for the other callers.
  func renewed(_ rejected: Credential) async throws -> String {
    if let newer = newer(than: rejected.token) { return newer }
    if let failure, failure.token == rejected.token, failure.number > rejected.failures { throw failure.error }
    if let running = running[rejected.token], let place = running.reserve() {
      return try await running.value(at: place)
    }
    // The renewal continues even if all callers are cancelled, because a refresh token can often be used only once.
    let renewal = SharedTask<String>(isCancelledWithTheLast: false)
    guard let place = renewal.reserve() else { throw CancellationError() }
    running[rejected.token] = renewal
    renewal.start { try await self.renewal(of: rejected.token) }
    return try await renewal.value(at: place)
  }

  private func renewal(of rejected: String) async throws -> String {
    do {
      // If the app already has a different token, for example because the user has signed in again, that token is used.
      if let current = try await token(), current != rejected, newer(than: current) == nil {
        running[rejected] = nil
        return current
      }
      let new = try await refresh?(rejected)
      running[rejected] = nil
      guard let new else { throw remember(failureOf: rejected, cause: nil) }
      retire(rejected, for: new)
      return new
    } catch let error as Failed {
      throw error.error
    } catch {
      running[rejected] = nil
      throw remember(failureOf: rejected, cause: error).error
    }
  }

  /// Wraps an error that this actor has created, so that it is rethrown unchanged. Any other error was thrown by one of
  /// the app's closures and becomes the cause of a `RemoteError`.
  private struct Failed: Error { let error: RemoteError }

  private func remember(failureOf rejected: String, cause: (any Error)?) -> Failed {
    failures += 1
    let reason =
      cause == nil
      ? "the server rejected the token; provide a valid token"
      : "the server rejected the token, and the token could not be renewed; provide a valid token"
    let error = RemoteError(.unauthorized, reason, status: 401, underlying: cause)
    failure = (rejected, failures, error)
    return Failed(error: error)
  }

  private func newer(than token: String) -> String? { retired.contains(token) ? latest : nil }

  private func retire(_ rejected: String, for new: String) {
    retired.removeAll { $0 == new || $0 == rejected }
    if rejected != new { retired.append(rejected) }
    // Only the last eight tokens are kept, because the list would otherwise grow as long as the process runs. Eight
    // tokens are enough, because an app rarely returns an older one, and a late response rarely rejects one.
    if retired.count > 8 { retired.removeFirst() }
    latest = new
  }
}
