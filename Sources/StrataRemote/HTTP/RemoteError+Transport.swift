internal import Foundation

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

extension RemoteError {
  /// Converts an error that `URLSession` has thrown to a `RemoteError`.
  ///
  /// - Parameter hasHead: whether the status and the headers of a response had been received before the error occurred.
  init(transport error: any Error, hasHead: Bool) {
    let cutOff = "the connection ended before the end of the response; try again"
    let (code, reason): (Code, String)
    switch (error as? URLError)?.code {
    // On Linux, `URLSession` reports `badServerResponse` if it received no response, and `unsupportedURL` if the
    // response is not HTTP.
    case .badServerResponse where !hasHead && Self.isEmptyBad: (code, reason) = (.cutOff, cutOff)
    case .timedOut:
      (code, reason) = (.timedOut, "the server did not respond in time; try again, or increase the timeout")
    case .networkConnectionLost: (code, reason) = (.cutOff, cutOff)
    case .dataLengthExceedsMaximum:
      (code, reason) = (.tooLarge, "the response is larger than the limit of the session; request less data")
    case .badURL, .unsupportedURL, .badServerResponse, .cannotParseResponse, .cannotDecodeRawData,
      .cannotDecodeContentData,
      .zeroByteResource:
      (code, reason) = (.invalidResponse, "the response is not a valid HTTP response")
    default:
      (code, reason) =
        hasHead ? (.cutOff, cutOff) : (.notConnected, "the server could not be reached; check the connection")
    }
    self.init(code, reason, underlying: error)
  }

  private static var isEmptyBad: Bool {
    #if canImport(FoundationNetworking)
      true
    #else
      false
    #endif
  }
}
