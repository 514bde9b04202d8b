import Foundation
import StrataCore

/// Measures the peak memory of writing and reading a stream.
enum StreamMemory {
  static let argument = "--stream-memory"

  /// Writes a stream of `count` models to a file, reads it back, and prints the memory of the process.
  ///
  /// Each model is created just before it is written and released after it is read. If memory grows with `count`, the stream itself uses
  /// it.
  static func run(_ count: Int) async throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "strata-stream-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: url) }
    let start = try peak()
    var writer = try ArchiveStreamWriter<Small>(creating: url)
    for number in 0..<count { try writer.append(Small.make(number: number)) }
    try writer.finish()
    let written = try peak()
    var read = 0
    for try await model in ArchiveSequence(Small.self, from: url) {
      guard model == Small.make(number: read) else { throw Failure("the stream did not give model \(read) back") }
      read += 1
    }
    guard read == count else { throw Failure("the stream gave \(read) of \(count) models back") }
    let size = try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int ?? 0
    say(
      "\(count) models, \(size) bytes. Peak memory in KiB: at the start \(start), written \(written), read \(try peak())"
    )
  }

  /// The largest resident size so far, in KiB.
  private static func peak() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
      let size = line.split(separator: " ").compactMap({ Int($0) }).first
    else { throw Failure("this system does not say how much memory a process takes") }
    return size
  }
}
