import Foundation
import StrataCore
import StrataLegacy

extension Runner {
  /// Compares Strata with each peer on a set of models, with a row for each kind of measurement.
  func compare<M: VersionedModel & Equatable>(_ models: [M], suffix: String, _ peers: [(Peer, skippedDecode: Bool)])
    throws
  {
    let encoder = ArchiveEncoder()
    let decoder = ArchiveDecoder()
    let body = try encoder.encodeBody(models)
    let archive = try encoder.encode(models)
    guard try decoder.decodeBody([M].self, from: body) == models,
      try decoder.decode([M].self, from: archive) == models
    else { throw Failure("Strata did not give the source back: \(suffix)") }

    for (peer, skippedDecode) in peers {
      let name = suffix + peer.name
      let rows = ["encode/", "decode/", "archive/", "unarchive/", "size/"].map { $0 + name }
      guard rows.contains(where: wants) else { continue }
      let bytes = try peer.encode()
      let compressed = try Gzip.compress(bytes)
      guard try Gzip.decompress(compressed) == bytes else {
        throw Failure("zlib did not give the source back")
      }
      if !skippedDecode, try !peer.isRight(bytes) { throw Failure("\(name) did not give the source back") }

      try time(rows[0]) {
        consume(try encoder.encodeBody(models))
      } theirs: {
        consume(try peer.encode())
      }
      if !skippedDecode {
        try time(rows[1]) {
          consume(try decoder.decodeBody([M].self, from: body))
        } theirs: {
          try peer.decode(bytes)
        }
      }
      try time(rows[2]) {
        consume(try encoder.encode(models))
      } theirs: {
        consume(try Gzip.compress(peer.encode()))
      }
      if !skippedDecode {
        try time(rows[3]) {
          consume(try decoder.decode([M].self, from: archive))
        } theirs: {
          try peer.decode(Gzip.decompress(compressed))
        }
      }
      size(rows[4], ours: archive.count, theirs: compressed.count)
    }
  }

  func compareTweets(_ tweets: [Tweet]) throws {
    var peers = [(Peer.protobuf(tweets), false), (.json(tweets), false), (.plist(tweets), false)]
    if ["encode/keyed", "decode/keyed", "archive/keyed", "unarchive/keyed", "size/keyed"].contains(
      where: wants)
    {
      peers.append((.keyed(tweets), skipsKeyed("tweets", "keyed")))
    }
    try compare(tweets, suffix: "", peers)
  }

  func compareSmall(_ count: Int) throws {
    let suffix = "small-\(count)/"
    guard
      ["encode/", "decode/", "archive/", "unarchive/", "size/"].contains(where: { kind in
        ["protobuf", "json", "plist", "keyed"].contains { wants(kind + suffix + $0) }
      })
    else { return }
    let models = Small.make(count)
    var peers: [(Peer, Bool)] = []
    // NSKeyedArchiver's time grows with the square of the count.
    if count <= 1000 { peers.append((.keyed(models), skipsKeyed(String(count), suffix + "keyed"))) }
    if count != 1000 {
      peers += [(.protobuf(models), false), (.json(models), false), (.plist(models), false)]
    }
    try compare(models, suffix: suffix, peers)
  }

  private func skipsKeyed(_ trial: String, _ name: String) -> Bool {
    if KeyedTrial.survives(trial) { return false }
    say(
      "decode/\(name), unarchive/\(name): left out, since NSKeyedUnarchiver ended another process or failed there"
    )
    return true
  }

  /// Compares reading an archive's stamp with decoding the archive, and upgrading an archive with decoding it.
  func compareOpening(_ tweets: [Tweet]) throws {
    let decoder = ArchiveDecoder()
    let archive = try ArchiveEncoder().encode(tweets)
    let old = try Tweet.versionOneArchive(tweets)
    var report = DecodingReport()
    guard try decoder.decode([Tweet].self, from: old, report: &report) == tweets, !report.isEmpty else {
      throw Failure("the upgrade did not give the source back")
    }
    try time("stamp/decode") {
      consume(try Stamp(of: archive))
    } theirs: {
      consume(try decoder.decode([Tweet].self, from: archive))
    }
    try time("upgrade/decode", inverted: true) {
      consume(try decoder.decode([Tweet].self, from: old))
    } theirs: {
      consume(try decoder.decode([Tweet].self, from: archive))
    }
  }

  /// Compares encoding and decoding 111,126 decimals with 16 or 17 digits, like those of map coordinates.
  func compareDecimals() throws {
    guard ["decimals/encode", "decimals/decode", "decimals/archive", "decimals/unarchive"].contains(where: wants) else {
      return
    }
    var state: UInt64 = 38
    let texts = (0..<111_126).map { place in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let digits = String((1_000_000_000_000_000 + state % 9_000_000_000_000_000) | 1) + (place % 2 == 0 ? "7" : "")
      return (place % 3 == 0 ? "-" : "") + digits.prefix(2) + "." + digits.dropFirst(2)
    }
    let json = Data("[\(texts.joined(separator: ","))]".utf8)
    let value = try JSONReader().read(json)
    let decimals = try JSONDecoder().decode([Decimal].self, from: json)
    let (encoder, decoder) = (ArchiveEncoder(), ArchiveDecoder())
    let (body, archive) = (try encoder.encodeBody(value), try encoder.encode(value))
    guard try decoder.decodeBody(ArchiveValue.self, from: body) == value, try JSONWriter().write(value) == json else {
      throw Failure("the decimals did not come back")
    }
    try time("decimals/encode") {
      consume(try encoder.encodeBody(value))
    } theirs: {
      consume(try JSONEncoder().encode(decimals))
    }
    try time("decimals/decode") {
      consume(try decoder.decodeBody(ArchiveValue.self, from: body))
    } theirs: {
      consume(try JSONDecoder().decode([Decimal].self, from: json))
    }
    try time("decimals/archive") {
      consume(try encoder.encode(value))
    } theirs: {
      consume(try JSONEncoder().encode(decimals))
    }
    try time("decimals/unarchive") {
      consume(try decoder.decode(ArchiveValue.self, from: archive))
    } theirs: {
      consume(try JSONDecoder().decode([Decimal].self, from: json))
    }
  }

  /// Compares the cost per model in an array of a million models with the cost per model in an array of a thousand.
  func compareGrowth() throws {
    guard ["grow/encode", "grow/decode"].contains(where: wants) else { return }
    let many = Small.make(1_000_000)
    let few = Small.make(1000)
    let encoder = ArchiveEncoder()
    let decoder = ArchiveDecoder()
    try time("grow/encode", inverted: true, oursPer: many.count, theirsPer: few.count) {
      consume(try encoder.encodeBody(many))
    } theirs: {
      consume(try encoder.encodeBody(few))
    }
    let manyBytes = try encoder.encodeBody(many)
    let fewBytes = try encoder.encodeBody(few)
    try time("grow/decode", inverted: true, oursPer: many.count, theirsPer: few.count) {
      consume(try decoder.decodeBody([Small].self, from: manyBytes))
    } theirs: {
      consume(try decoder.decodeBody([Small].self, from: fewBytes))
    }
  }
}
