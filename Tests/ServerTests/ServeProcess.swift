import Foundation
import StrataRemote
import StrataTestSupport
import Testing

/// The server program, running in a separate process.
final class ServeProcess {
  /// The address of the server.
  struct Site: Sendable {
    let base: String

    func send(_ method: String, _ path: String, _ body: String? = nil, _ headers: HTTPHeaders = [:]) async throws
      -> HTTPResponse
    {
      let url = try #require(URL(string: base + path))
      var headers = headers
      if body != nil, headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
      return try await URLSessionTransport().send(
        HTTPRequest(method, url, headers: headers, body: body.map { Data($0.utf8) }), sizeLimit: 64 << 20,
        timeout: .seconds(60))
    }
  }

  struct NotListening: Error {}

  private let process = Process()
  private let scratch: Scratch
  /// The line that the program printed when it began to listen.
  let line: String
  let site: Site

  /// Starts the program on a port that the system chooses.
  ///
  /// - Parameter folder: the folder with the records, or `nil` for Fixtures/remote.
  init(_ arguments: String..., folder: String? = nil) throws {
    let fixtures = URL(fileURLWithPath: #filePath).appending(path: "../../../Fixtures/remote").standardized.path
    scratch = try Scratch()
    process.executableURL = URL(fileURLWithPath: try Products.path("strata-serve"))
    process.arguments = [folder ?? fixtures, "--port", "0"] + arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: scratch.file("log", "")))
    try process.run()
    var text = Data()
    while !text.contains(0x0A) {
      let part = output.fileHandleForReading.availableData
      // The output has ended, so the program has stopped.
      if part.isEmpty { throw NotListening() }
      text.append(part)
    }
    line = String(decoding: text, as: UTF8.self)
    site = Site(base: try #require(line.split(separator: " ").last).trimmingCharacters(in: .newlines))
  }

  deinit { if process.isRunning { process.terminate() } }

  var log: [String] {
    get throws { String(decoding: try scratch.data("log"), as: UTF8.self).split(separator: "\n").map(String.init) }
  }

  var base: String { site.base }

  func send(_ method: String, _ path: String, _ body: String? = nil, _ headers: HTTPHeaders = [:]) async throws
    -> HTTPResponse
  { try await site.send(method, path, body, headers) }

  /// Sends a signal and waits until the program ends.
  ///
  /// - Returns: the exit code, or `nil` if a signal ended the program.
  func stop(_ signal: Int32 = SIGTERM) -> Int32? {
    kill(process.processIdentifier, signal)
    process.waitUntilExit()
    return process.terminationReason == .exit ? process.terminationStatus : nil
  }
}
