import Foundation
import StrataCore
import StrataLegacy

extension Benchmark {
  /// Encodes and decodes a model with five fields and 100 tweets, and decodes an archive of an old version and a keyed archive. As
  /// in Docs/Benchmarks.md, `encode` and `decode` work without compression and checksum.
  static var coding: [Benchmark] {
    coding("small", calls: 100) { Small.make(number: 7) } + coding("tweets") { try Tweet.make(100) } + [
      Benchmark("upgrade/record", calls: 10) {
        let decoder = ArchiveDecoder()
        let tweet = try Tweet.make(2)[1]
        let old = try tweet.versionOneArchive()
        var report = DecodingReport()
        let upgraded = try decoder.decode(Tweet.self, from: old, report: &report)
        try check(upgraded == tweet && !tweet.retweeted.isEmpty && !report.isEmpty, "an archive of version 1")
        return { consume(try decoder.decode(Tweet.self, from: old)) }
      },
      Benchmark("legacy/open") {
        let decoder = ArchiveDecoder()
        let models = Small.make(100)
        let data = try ArchiveEncoder().encodeKeyed(models)
        try check(try decoder.decode([Small].self, fromKeyed: data) == models, "a keyed archive")
        return { consume(try decoder.decode([Small].self, fromKeyed: data)) }
      },
    ]
  }

  private static func coding<T: Archivable & Equatable>(
    _ name: String, calls: Int = 1, _ make: @escaping () throws -> T
  ) -> [Benchmark] {
    // The encoder uses only this thread, because the instructions of other threads aren't counted.
    let (encoder, decoder) = (ArchiveEncoder(threads: 1), ArchiveDecoder())
    return [
      Benchmark("\(name)/encode", calls: calls) {
        let value = try make()
        try check(try decoder.decodeBody(T.self, from: encoder.encodeBody(value)) == value, "a body of \(name)")
        return { consume(try encoder.encodeBody(value)) }
      },
      Benchmark("\(name)/decode", calls: calls) {
        let value = try make()
        let body = try encoder.encodeBody(value)
        try check(try decoder.decodeBody(T.self, from: body) == value, "a body of \(name)")
        return { consume(try decoder.decodeBody(T.self, from: body)) }
      },
      Benchmark("\(name)/archive", calls: calls) {
        let value = try make()
        try check(try decoder.decode(T.self, from: encoder.encode(value)) == value, "an archive of \(name)")
        return { consume(try encoder.encode(value)) }
      },
      Benchmark("\(name)/unarchive", calls: calls) {
        let value = try make()
        let archive = try encoder.encode(value)
        try check(try decoder.decode(T.self, from: archive) == value, "an archive of \(name)")
        return { consume(try decoder.decode(T.self, from: archive)) }
      },
    ]
  }
}
