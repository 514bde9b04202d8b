package import Foundation
import StrataCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Reads stamps and streams from any file, member by member.
///
/// Bytes without a gzip header are treated as members: two bytes give the lengths of a stamp and a body, which follow them.
/// The trial adds correct checksums, so that mutated inputs aren't rejected because of their checksums.
package enum StreamTrial {
  package static func run(_ data: Data) throws {
    let bytes = data.starts(with: [0x1F, 0x8B]) ? data : members(of: data)
    let stamp = try Trial.attempt { try Stamp(of: bytes) }
    // Each process has one file. The next input replaces it.
    let url = FileManager.default.temporaryDirectory.appending(path: "strata-trial-\(getpid()).strata")
    try bytes.write(to: url)
    let fromFile = try Trial.attempt { try Stamp(ofFile: url) }
    try require((stamp == nil) == (fromFile == nil), "a file has a stamp where its bytes have one")
    if let stamp, stamp.kind == .single { try require(stamp == fromFile, "both stamps are the same") }
    var limits = ArchiveLimits()
    limits.inflatedSize = 1 << 20
    var values = ArchiveSequence(ArchiveValue.self, from: url, limits: limits).makeAsyncIterator()
    while try Trial.attempt({ try values.next() }) ?? nil != nil {}
    try require(try Trial.attempt { try values.next() } ?? nil == nil, "nothing follows the end")
    var leaves = ArchiveSequence(Leaf.self, from: url, limits: limits).makeAsyncIterator()
    while try Trial.attempt({ try leaves.next() }) ?? nil != nil {}
  }

  private static func members(of data: Data) -> Data {
    var rest = data[...]
    var file: [UInt8] = []
    while !rest.isEmpty {
      let stampLength = Int(rest.removeFirst())
      let bodyLength = Int(rest.popFirst() ?? 0) * 4
      let stamp = Array(rest.prefix(stampLength))
      rest = rest.dropFirst(stampLength)
      GzipMember.append(stamp: stamp, body: Array(rest.prefix(bodyLength)), to: &file)
      rest = rest.dropFirst(bodyLength)
    }
    return Data(file)
  }
}
