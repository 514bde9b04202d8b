internal import Foundation
internal import StrataCore

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// A range of bytes in a file, or in the resource at an `http` or `https` URL.
struct ByteRange {
  let offset: Int
  /// The number of bytes. If both offset and length are 0, the range is the whole file or resource.
  let length: Int
  let location: String

  var isWhole: Bool { offset == 0 && length == 0 }

  /// Parses a part of a request, which consists of the offset and the length (8 bytes each) and the location in UTF-8.
  init?(_ bytes: ArraySlice<UInt8>) {
    var rest = Cursor(rest: bytes)
    guard let offset = rest.integer(UInt64.self).flatMap({ Int(exactly: $0) }),
      let length = rest.integer(UInt64.self).flatMap({ Int(exactly: $0) }),
      !offset.addingReportingOverflow(length).overflow,
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
        "\(location): the file has only \(data.count) of \(length) bytes from offset \(offset); index the file again "
          + "if it was replaced"
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
    guard let url = URL(string: location) else { throw ToolError("\(location): the address is not valid") }
    var request = URLRequest(url: url, timeoutInterval: 60)
    if !isWhole { request.setValue("bytes=\(offset)-\(offset + length - 1)", forHTTPHeaderField: "Range") }
    let answer = Mutex<Result<(Data, Int), any Error>?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    let task = URLSession.shared.dataTask(with: request) { data, response, error in
      let status = (response as? HTTPURLResponse)?.statusCode ?? 0
      answer.withLock { $0 = error.map { .failure($0) } ?? .success((data ?? Data(), status)) }
      isDone.signal()
    }
    task.resume()
    isDone.wait()
    guard let result = answer.withLock({ $0 }) else { throw ToolError("\(location): the server did not respond") }
    let (data, status) = try ToolError.at(location) { try result.get() }
    guard status == (isWhole ? 200 : 206) else {
      throw ToolError(
        status == 200
          ? "\(location): the server responded with status \(status) because it does not support ranges"
          : "\(location): the server responded with status \(status)")
    }
    guard data.count <= limit else { throw tooLong(limit) }
    return data
  }
}
