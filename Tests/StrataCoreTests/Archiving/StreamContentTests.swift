import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// A model that can contain the bytes of a stream.
struct StreamBlob: DescribedModel, Equatable {
  var bytes: Data
  static let fields = Fields(
    StreamBlob.self, name: "StreamBlob", version: 1, Field("bytes", \.bytes), make: { StreamBlob(bytes: $0) })
  static func named(_ name: String) -> StreamBlob { StreamBlob(bytes: Data(name.utf8)) }
}

/// The bytes of an uncompressed stream of blobs, and its models.
struct BlobStream {
  var bytes = Data()
  /// The size of the stream after each session.
  var sizes: [Int] = []
  private(set) var sessions: [[StreamBlob]] = []

  var models: [StreamBlob] { sessions.flatMap(\.self) }
  /// The size before the last session.
  var before: Int { sizes.count > 1 ? sizes[sizes.count - 2] : 0 }

  /// - Parameters:
  ///   - hasLinks: whether the members record their positions.
  ///   - size: the largest number of models in a member.
  init(_ sessions: [[StreamBlob]], hasLinks: Bool, memberSize size: Int = 100) throws {
    self.sessions = sessions
    var file: [UInt8] = []
    var stamp = Stamp(
      typeName: "StreamBlob", modelVersion: 1, fingerprint: StreamBlob._rootSchema?.fingerprint ?? 0)
    var total: (count: UInt64, size: UInt64) = (0, 0)
    for models in sessions {
      var rest = models[...]
      while !rest.isEmpty {
        var writer = ArchiveWriter()
        writer.beginCountedArray()
        for model in rest.prefix(size) { try writer.writeElement(model) }
        let count = min(rest.count, size)
        rest = rest.dropFirst(size)
        writer.setCount(UInt32(count))
        (stamp.kind, stamp.count) = (.member, UInt64(count))
        total = (total.count + UInt64(count), total.size + UInt64(writer.buffer.count))
        file += try writer.member(stamp, .none, link: hasLinks ? StreamLink(after: file.bytes) : nil)
        stamp.sequenceNumber += 1
      }
      (stamp.kind, stamp.count, stamp.plainSize) = (.end, total.count, total.size)
      try Gzip.appendMember(
        body: RawSpan(), stamp: stamp, link: hasLinks ? StreamLink(after: file.bytes) : nil, to: &file)
      stamp.sequenceNumber += 1
      sizes.append(file.count)
    }
    bytes = Data(file)
  }
}

extension SessionStream {
  fileprivate func blobs(_ damage: StreamGap.Handling = .fails) throws -> [StreamBlob] {
    try Self.blobs(at: url, damage)
  }

  fileprivate static func blobs(at url: URL, _ damage: StreamGap.Handling = .fails) throws -> [StreamBlob] {
    var iterator = ArchiveSequence(StreamBlob.self, from: url, damage: damage).makeAsyncIterator()
    var models: [StreamBlob] = []
    while let model = try iterator.next() { models.append(model) }
    return models
  }

  /// Appends a model to an unfinished stream.
  fileprivate func recover(_ model: StreamBlob) throws {
    var writer = try ArchiveStreamWriter<StreamBlob>(appendingTo: url, recovering: true)
    try writer.append(model)
    try writer.finish()
  }

  /// The models that a salvage writes, or an empty array if nothing is readable.
  fileprivate func salvaged() throws -> [StreamBlob] {
    let output = folder.appending(path: "rescued.strata")
    try? FileManager.default.removeItem(at: output)
    do { _ = try ArchiveSalvage.salvage(url, to: output) } catch let error as ArchiveError where error.isDamage {}
    return FileManager.default.fileExists(atPath: output.path) ? try Self.blobs(at: output) : []
  }
}

/// Whether `part` is an ordered subsequence of `whole`.
private func isPart(_ part: [StreamBlob], of whole: [StreamBlob]) -> Bool {
  var rest = whole[...]
  for model in part {
    guard let place = rest.firstIndex(of: model) else { return false }
    rest = rest[(place + 1)...]
  }
  return true
}

@Suite("Streams: models that contain the bytes of streams")
struct StreamContentTests {
  /// Returns the bytes of a stream that the tests embed in a model.
  private static func inner(hasLinks: Bool) throws -> Data {
    try BlobStream([[.named("inner a"), .named("inner b")], [.named("inner c")]], hasLinks: hasLinks, memberSize: 1)
      .bytes
  }

  @Test(
    "X-37: after a flipped byte, an embedded stream is never read as members of the outer stream", .tags(.long),
    arguments: [true, false])
  func flips(hasLinks: Bool) throws {
    let inner = try Self.inner(hasLinks: hasLinks)
    let host = try BlobStream(
      [[.named("a"), StreamBlob(bytes: inner)], [.named("b"), StreamBlob(bytes: inner + inner)], [.named("c")]],
      hasLinks: hasLinks)
    try SessionStream.with { stream in
      for place in Effort.sample(80, of: host.bytes.indices) {
        var damaged = host.bytes
        damaged[place] ^= 0x10
        try damaged.write(to: stream.url)
        let found = try stream.blobs(.skips)
        #expect(isPart(found, of: host.models), "byte \(place)")
        #expect(found.count >= host.models.count - 2, "byte \(place)")
        #expect(try stream.salvaged() == found, "byte \(place)")
      }
    }
  }

  @Test(
    "X-37: recovering cuts an incomplete session that contains embedded streams", .tags(.long),
    arguments: [true, false])
  func cuts(hasLinks: Bool) throws {
    let inner = try Self.inner(hasLinks: hasLinks)
    let host = try BlobStream([[.named("a")], [StreamBlob(bytes: inner), .named("b")]], hasLinks: hasLinks)
    try SessionStream.with { stream in
      for length in Effort.sample(40, of: host.sizes[0] + 1..<host.sizes[1]) {
        try host.bytes.prefix(length).write(to: stream.url)
        #expect(try isPart(stream.blobs(.skips), of: host.models), "cut to \(length)")
        #expect(throws: Never.self, "cut to \(length)") { try stream.recover(.named("c")) }
        #expect(try stream.blobs() == [.named("a"), .named("c")], "cut to \(length)")
        try FileManager.default.removeItem(at: stream.url)
      }
    }
  }

  @Test("X-37: while a writer appends, readers ignore the end member of an embedded stream", arguments: [true, false])
  func live(hasLinks: Bool) throws {
    let inner = try Self.inner(hasLinks: hasLinks)
    try SessionStream.with { stream in
      try BlobStream([[.named("a"), .named("b")]], hasLinks: hasLinks).bytes.write(to: stream.url)
      var writer = try ArchiveStreamWriter<StreamBlob>(appendingTo: stream.url, compression: .none, threads: 1)
      var models: [StreamBlob] = [.named("a"), .named("b")]
      for number in 0..<3 {
        models.append(StreamBlob(bytes: Data(repeating: UInt8(number), count: 300_000) + inner))
        try writer.append(models[number + 2])
        #expect(try stream.blobs() == Array(models.prefix(2)))
        #expect(try Stamp(ofFile: stream.url).count == 2)
      }
      #expect(try stream.bytes.count > 600_000)
      try writer.finish()
      #expect(try stream.blobs() == models)
      #expect(try Stamp(ofFile: stream.url).count == 5)
    }
  }

  @Test("X-37: a file cut right after an embedded stream is an unfinished stream", arguments: [true, false])
  func brokenOff(hasLinks: Bool) throws {
    let inner = try Self.inner(hasLinks: hasLinks)
    let host = try BlobStream([[.named("a")], [StreamBlob(bytes: inner), .named("b")]], hasLinks: hasLinks)
    let end = try #require(host.bytes.range(of: inner)).upperBound
    try SessionStream.with { stream in
      try host.bytes[..<end].write(to: stream.url)
      #expect(try Stamp(ofFile: stream.url).kind == .member)
      for verifying in [true, false] {
        #expect(throws: ArchiveError.self, "verifying: \(verifying)") {
          var writer = try ArchiveStreamWriter<StreamBlob>(appendingTo: stream.url, verifying: verifying)
          try writer.append(.named("c"))
          try writer.finish()
        }
      }
      #expect(try stream.bytes == host.bytes[..<end])
      // Simulates a writer that is still running and has written the bytes up to the end of the embedded stream.
      try host.bytes.prefix(host.sizes[0]).write(to: stream.url)
      let writer = try ArchiveStreamWriter<StreamBlob>(appendingTo: stream.url)
      let handle = try FileHandle(forWritingTo: stream.url)
      try handle.seekToEnd()
      try handle.write(contentsOf: host.bytes[host.sizes[0]..<end])
      try handle.close()
      #expect(try stream.blobs() == [.named("a")])
      #expect(try Stamp(ofFile: stream.url).count == 1)
      _ = consume writer
    }
  }

  @Test("X-37: salvage writes members that may not belong to the stream to a separate file")
  func unproven() throws {
    let inner = try Self.inner(hasLinks: true)
    let host = try BlobStream(
      [[.named("a")], [.named("b")], [StreamBlob(bytes: inner)], [.named("c")]], hasLinks: false)
    try SessionStream.with { stream in
      // The first change damages a header, which makes the number of lost models unknown. The second damages an end member, so the
      // members between the two have no end member.
      var damaged = host.bytes
      damaged[host.sizes[0] + 20] ^= 1
      damaged[host.sizes[2] - 20] ^= 1
      try damaged.write(to: stream.url)
      let output = stream.folder.appending(path: "rescued.strata")
      let report = try ArchiveSalvage.salvage(stream.url, to: output)
      #expect(try SessionStream.blobs(at: output) == [.named("a"), .named("c")])
      #expect(report.modelCount == 2 && report.unprovenCount == 1 && !report.isComplete)
      let file = try #require(report.unprovenFile)
      #expect(file.lastPathComponent == "rescued.strata.unproven")
      #expect(try SessionStream.blobs(at: file) == [StreamBlob(bytes: inner)])
      // If no member provably belongs to the stream, the old output is kept.
      try damaged[host.sizes[0]..<host.sizes[2] - 10].write(to: stream.url)
      #expect(try ArchiveSalvage.salvage(stream.url, to: output).modelCount == 0)
      #expect(try SessionStream.blobs(at: output) == [.named("a"), .named("c")])
    }
  }

  @Test("X-37: the example in Docs/Reliability.md recovers and salvages a stream")
  func example() throws {
    typealias Issue = StreamBlob
    func print(_ text: Any) { Swift.print("example: \(text)") }
    let host = try BlobStream([[.named("a")], [.named("b")]], hasLinks: true)
    try SessionStream.with { stream in
      try (host.bytes + host.bytes.prefix(20)).write(to: stream.url)
      let (url, rescued) = (stream.url, stream.folder.appending(path: "rescued.strata"))
      // Reliability:begin
      let writer = try ArchiveStreamWriter<Issue>(appendingTo: url, recovering: true)
      if let file = writer.cutFile { print("cut off: \(file.path)") }

      let report = try ArchiveSalvage.salvage(url, to: rescued)
      for gap in report.gaps { print(gap) }
      if let file = report.unprovenFile { print("perhaps: \(file.path)") }
      // Reliability:end
      let cut = writer.cutFile
      #expect(try Data(contentsOf: #require(cut)) == host.bytes.prefix(20))
      try writer.finish()
      #expect(report.modelCount == 2 && report.isComplete)
    }
    let guide = try Repository.text("Docs/Reliability.md")
    let lines = try Repository.examples("Reliability").joined().split(separator: "\n")
    for line in lines where !line.allSatisfy(\.isWhitespace) {
      #expect(guide.contains(line.trimmingCharacters(in: .whitespaces)), "\(line)")
    }
  }

  @Test("X-37: a session without links can follow one with links")
  func mixed() throws {
    let sessions: [[StreamBlob]] = [[.named("a"), .named("b")], [.named("c")]]
    let new = try BlobStream(sessions, hasLinks: true)
    let old = try BlobStream(sessions, hasLinks: false)
    let mixed = new.bytes.prefix(new.sizes[0]) + old.bytes[old.sizes[0]...]
    try SessionStream.with { stream in
      try mixed.write(to: stream.url)
      #expect(try stream.blobs() == old.models)
      #expect(try Stamp(ofFile: stream.url).count == 3)
      var writer = try ArchiveStreamWriter<StreamBlob>(appendingTo: stream.url, verifying: false)
      #expect(try stream.blobs() == old.models)
      #expect(try Stamp(ofFile: stream.url).count == 3)
      try writer.append(.named("d"))
      try writer.finish()
      #expect(try stream.blobs() == old.models + [.named("d")])
      #expect(try Stamp(ofFile: stream.url).count == 4)
      // The sessions after the damage are still read.
      var damaged = try stream.bytes
      damaged[100] ^= 1
      try damaged.write(to: stream.url)
      #expect(try stream.blobs(.skips) == [.named("c"), .named("d")])
    }
  }

  @Test("X-37: members at the wrong offset throw, and skipping damage still reads each of them once")
  func moved() throws {
    let host = try BlobStream([[.named("a")], [.named("b")], [.named("c")]], hasLinks: true)
    try SessionStream.with { stream in
      try (host.bytes.prefix(host.sizes[0]) + Data(count: 1000) + host.bytes[host.sizes[0]...]).write(to: stream.url)
      #expect(throws: ArchiveError.self) { try stream.blobs() }
      #expect(throws: ArchiveError.self) { try stream.recover(.named("d")) }
      #expect(try stream.blobs(.skips) == host.models)
      // Running `cat` with the same file twice would create this file.
      try (host.bytes + host.bytes).write(to: stream.url)
      #expect(throws: ArchiveError.self) { try stream.blobs() }
      #expect(try stream.blobs(.skips) == host.models)
    }
  }

  @Test("The member link in Docs/Format.md matches the encoded bytes")
  func documented() throws {
    let bytes = Data(count: 137) + Data([0xED, 0x04, 0x5D, 0x7B, 0x31, 0, 0, 0])
    let header = try GzipHeader.bytes(for: Stamp(typeName: "Value"), link: StreamLink(after: bytes.bytes))
    let link = header.dropLast(2).suffix(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
    let text = try Repository.text("Docs/Format.md")
    for part in [link[..<4], link[4..<12], link[12...]] { #expect(text.contains("    " + part.joined(separator: " "))) }
  }

  @Test("X-37: random damage and cuts of streams with embedded streams never yield wrong models", .tags(.long))
  func random() throws {
    let seed = UInt64.random(in: 0..<1 << 48)
    var (invented, refused, wrong, rounds) = (0, 0, 0, 0)
    for round in 0..<Effort.rounds(25, long: 400) {
      var random = SeededRandom(seed: seed &+ UInt64(round))
      let place: Comment = "seed \(seed &+ UInt64(round))"
      let hasLinks = !random.isOnce(in: 3)
      let size = 1 + random.below(3)
      var sessions: [[StreamBlob]] = []
      for session in 0..<2 + random.below(3) {
        var models: [StreamBlob] = []
        for number in 0..<1 + random.below(4) {
          var content = Data("\(session).\(number) ".utf8)
          for _ in 0..<random.below(3) { content += try Self.content(sessions, size, hasLinks, &random) }
          models.append(StreamBlob(bytes: content))
        }
        sessions.append(models)
      }
      let host = try BlobStream(sessions, hasLinks: hasLinks, memberSize: size)
      let old = Array(sessions.dropLast().joined())
      try SessionStream.with { stream in
        rounds += 1
        try host.bytes.write(to: stream.url)
        if try stream.blobs() != host.models || Stamp(ofFile: stream.url).count != UInt64(host.models.count) {
          wrong += 1
          Issue.record("read otherwise: \(place)")
        }
        // Flips one bit.
        var damaged = host.bytes
        damaged[random.below(damaged.count)] ^= 1 << UInt8(random.below(8))
        try damaged.write(to: stream.url)
        let found = try stream.blobs(.skips)
        if try !isPart(found, of: host.models) || !isPart(stream.salvaged(), of: host.models) {
          invented += 1
          Issue.record("invented behind a flip: \(place)")
        }
        // Truncates the file as if its writer had been killed. Reads, salvages and recovers it, and then reads it while another writer
        // has written the same bytes.
        let length = host.before + 1 + random.below(host.bytes.count - host.before - 1)
        try host.bytes.prefix(length).write(to: stream.url)
        let cut = try (stream.blobs(.skips), stream.salvaged())
        if !isPart(cut.0, of: host.models) || !isPart(cut.1, of: host.models) || !cut.0.starts(with: old) {
          invented += 1
          Issue.record("invented behind a cut: \(place), cut to \(length)")
        }
        do {
          try stream.recover(.named("new"))
          if try stream.blobs() != old + [.named("new")] {
            wrong += 1
            Issue.record("recovered otherwise: \(place), cut to \(length)")
          }
        } catch {
          refused += 1
          Issue.record("\(error): \(place), cut to \(length)")
        }
        try host.bytes.prefix(host.before).write(to: stream.url)
        let writer = try ArchiveStreamWriter<StreamBlob>(appendingTo: stream.url)
        let handle = try FileHandle(forWritingTo: stream.url)
        try handle.seekToEnd()
        try handle.write(contentsOf: host.bytes[host.before..<length])
        try handle.close()
        if try stream.blobs() != old || Stamp(ofFile: stream.url).count != UInt64(old.count) {
          wrong += 1
          Issue.record("read otherwise beside a writer: \(place), cut to \(length)")
        }
        _ = consume writer
      }
    }
    print(
      "streams in streams: \(rounds) rounds, \(invented) invented, \(refused) refused, \(wrong) otherwise, seed \(seed)"
    )
  }

  /// Returns the bytes of a stream or only of its last session. The stream is independent of the outer one, a copy of the outer one so
  /// far, or such a copy with added sessions.
  private static func content(
    _ sessions: [[StreamBlob]], _ size: Int, _ hasLinks: Bool, _ random: inout SeededRandom
  ) throws -> Data {
    let own = (0..<1 + random.below(3)).map { session in
      (0..<1 + random.below(3)).map { StreamBlob.named("own \(session).\($0)") }
    }
    let isOwn = sessions.isEmpty || random.isOnce(in: 2)
    let inner = try BlobStream(
      isOwn ? own : sessions + (random.isOnce(in: 2) ? own : []), hasLinks: random.isOnce(in: 4) != hasLinks,
      memberSize: size)
    // One time in four, the result is only the last session.
    let start = random.isOnce(in: 4) ? inner.sizes.dropLast().last ?? 0 : 0
    return inner.bytes[start...]
  }
}

@Suite("Streams: power failures")
struct StreamPowerTests {
  @Test(
    "X-30: recovering after a power failure cuts only the incomplete session", .tags(.long),
    arguments: [true, false])
  func sectors(hasLinks: Bool) throws {
    let host = try BlobStream(
      [
        [.named("a"), .named("b")],
        (0..<6).map {
          StreamBlob(bytes: Data((0..<300).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 1) }) + Data("\($0)".utf8))
        },
      ], hasLinks: hasLinks, memberSize: 2)
    let tail = (host.sizes[0] / 512...(host.bytes.count - 1) / 512).map { sector in
      max(sector * 512, host.sizes[0])..<min(sector * 512 + 512, host.bytes.count)
    }
    var states: [Data] = []
    for lost in 1..<1 << tail.count {
      var bytes = host.bytes
      for (place, sector) in tail.enumerated() where lost & 1 << place != 0 {
        bytes.replaceSubrange(sector, with: Data(count: sector.count))
      }
      states.append(bytes)
      // The file may end after the last sector that was written.
      if let last = tail.indices.last(where: { lost & 1 << $0 == 0 }) {
        states.append(bytes.prefix(tail[last].upperBound))
      }
    }
    let end = hasLinks ? 96 : 80
    var (recovered, refused, kept) = (0, 0, 0)
    try SessionStream.with { stream in
      for state in Effort.sample(30, of: states) where state != host.bytes {
        try state.write(to: stream.url)
        // If the end member is readable, the session may have been acknowledged, so recovering must fail.
        let hasEnd = state.count == host.bytes.count && state.suffix(end) == host.bytes.suffix(end)
        do {
          try stream.recover(.named("new"))
          recovered += 1
          #expect(!hasEnd)
          let cut = try? Data(contentsOf: stream.folder.appending(path: "stream.strata.cut"))
          #expect(cut == nil || cut == state[host.sizes[0]...])
          if cut != nil { kept += 1 }
          #expect(try stream.blobs() == [.named("a"), .named("b"), .named("new")])
        } catch {
          refused += 1
          #expect(try hasEnd && stream.bytes == state, "\(error)")
        }
        for name in try stream.files { try FileManager.default.removeItem(at: stream.folder.appending(path: name)) }
      }
    }
    print(
      "loss of power: \(recovered) states recovered, \(kept) kept beside the stream, \(refused) refused since an end follows, links: \(hasLinks)"
    )
  }
}
