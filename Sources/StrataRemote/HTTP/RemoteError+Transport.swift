internal import Foundation

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

extension RemoteError {
  /// Creates the error for an error that `URLSession` has thrown.
  ///
  /// - Parameter hasHead: whether the status and the headers of a response had been received before.
  init(transport error: any Error, hasHead: Bool) {
    let cutOff = "the connection ended before the answer did; the whole answer is needed"
    let (code, reason): (Code, String)
    switch (error as? URLError)?.code {
    // On Linux, this code means that no response was received at all. A response that is not HTTP has the code
    // `unsupportedURL` there.
    case .badServerResponse where !hasHead && Self.isEmptyBad: (code, reason) = (.cutOff, cutOff)
    case .timedOut: (code, reason) = (.timedOut, "the server was silent for too long; a faster answer is needed")
    case .networkConnectionLost: (code, reason) = (.cutOff, cutOff)
    case .dataLengthExceedsMaximum:
      (code, reason) = (.tooLarge, "the answer is larger than the session allows; a smaller one is needed")
    case .badURL, .unsupportedURL, .badServerResponse, .cannotParseResponse, .cannotDecodeRawData,
      .cannotDecodeContentData,
      .zeroByteResource:
      (code, reason) = (.invalidResponse, "the answer is not as HTTP wants it; a valid one is needed")
    default:
      (code, reason) =
        hasHead ? (.cutOff, cutOff) : (.notConnected, "the server could not be reached; a connection is needed")
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
