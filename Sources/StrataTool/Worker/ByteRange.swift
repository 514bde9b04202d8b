internal import Foundation
internal import StrataCore
internal import StrataRemote

/// A range of bytes in a file, or in the resource at an `http` or `https` URL.
struct ByteRange {
  let offset: Int
  /// The number of bytes. If both offset and length are 0, the range is the whole file or resource.
  let length: Int
  let location: String

  var isWhole: Bool { offset == 0 && length == 0 }

  /// Parses a request part that consists of the offset and the length (8 bytes each) and the location in UTF-8.
  init?(_ bytes: ArraySlice<UInt8>) {
    var rest = Cursor(rest: bytes)
    guard let offset = rest.integer(UInt64.self).flatMap({ Int(exactly: $0) }),
      let length = rest.integer(UInt64.self).flatMap({ Int(exactly: $0) }),
      length > 0 || offset == 0, !offset.addingReportingOverflow(length).overflow,
      let location = String(validUTF8: rest.rest), !location.isEmpty
    else { return nil }
    (self.offset, self.length, self.location) = (offset, length, location)
  }

  /// Reads the bytes of the range.
  ///
  /// - Throws: `ToolError`, which names the location, if the location cannot be read or ends before the range does, or
  ///   if the range is longer than `limit`.
  func data(limit: Int) throws -> Data {
    guard length <= limit else { throw tooLong(limit) }
    let isAddress = location.hasPrefix("http://") || location.hasPrefix("https://")
    let data = try isAddress ? download(limit: limit) : read(limit: limit)
    guard isWhole || data.count == length else {
      throw ToolError(
        "\(location): the file has only \(data.count) of the \(length) bytes requested from offset \(offset); if the "
          + "file was replaced, index it again"
      )
    }
    return data
  }

  private func tooLong(_ limit: Int) -> ToolError {
    ToolError("\(location): the range exceeds the limit of \(limit) bytes; raise the limit with --max-frame")
  }

  private func read(limit: Int) throws -> Data {
    try ToolError.at(location) {
      let file = try OpenFile(reading: URL(fileURLWithPath: location))
      let count = try isWhole ? file.status().size : length
      guard count <= limit else { throw tooLong(limit) }
      return Data(try file.readBytes(at: offset, count: count))
    }
  }

  /// Downloads the bytes with a single range request (RFC 9110 §14.2).
  private func download(limit: Int) throws -> Data {
    guard let url = URL(string: location) else { throw ToolError("\(location): the address is not a valid URL") }
    let request = HTTPRequest(
      "GET", url, headers: isWhole ? [:] : ["Range": "bytes=\(offset)-\(offset + length - 1)"])
    let response: HTTPResponse
    do {
      response = try Self.response(to: request, sizeLimit: isWhole ? limit : length)
    } catch let error as RemoteError where error.code == .tooLarge {
      guard !isWhole else { throw tooLong(limit) }
      throw ToolError(
        "\(location): the server sent more than the requested range because it does not support range requests")
    } catch { throw ToolError(location, error) }
    guard response.status == (isWhole ? 200 : 206) else {
      throw ToolError(
        response.status == 200
          ? "\(location): the server responded with status 200 because it does not support range requests"
          : "\(location): the server responded with status \(response.status)")
    }
    // RFC 9110 §15.3.7 allows a server to send a different range than the requested one, so the range is checked.
    guard isWhole || response.headers["Content-Range"]?.hasPrefix("bytes \(offset)-") == true else {
      throw ToolError("\(location): the server did not send the requested range")
    }
    return response.body
  }

  private static let transport = URLSessionTransport()

  /// Blocks the thread until the response is complete, because a worker handles one request at a time.
  private static func response(to request: HTTPRequest, sizeLimit: Int) throws -> HTTPResponse {
    let result = Mutex<Result<HTTPResponse, any Error>?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    Task.detached {
      let response: Result<HTTPResponse, any Error>
      do {
        response = .success(try await transport.send(request, sizeLimit: sizeLimit, timeout: .seconds(60)))
      } catch { response = .failure(error) }
      result.withLock { $0 = response }
      isDone.signal()
    }
    isDone.wait()
    guard let response = result.withLock({ $0 }) else { throw CancellationError() }
    return try response.get()
  }
}
