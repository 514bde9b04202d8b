package import Foundation
import StrataCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Any file: stamps and streams are read from it, member by member.
///
/// Bytes without a gzip header are treated as members: two bytes with the lengths of a stamp and a body, followed by these.
/// Checksums are added, so that they don't reject mutated inputs.
package enum StreamTrial {
  package static func run(_ data: Data) throws {
    let bytes = data.starts(with: [0x1F, 0x8B]) ? data : members(of: data)
    let stamp = try Trial.attempt { try Stamp(of: bytes) }
    // One file per process. The next input replaces it.
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
