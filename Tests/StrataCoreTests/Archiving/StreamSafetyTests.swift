import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Streams: recovery")
struct StreamRecoveryTests {
  /// Writes six sessions. Returns the bytes of the stream, and its size after each session.
  private func whole(_ stream: SessionStream) throws -> (bytes: Data, sizes: [Int]) {
    let sizes = try stream.sessions(6)
    return (try stream.bytes, sizes)
  }

  @Test("X-30: recovering cuts an incomplete session and keeps its bytes until the writer finishes", .tags(.long))
  func cuts() throws {
    try SessionStream.with { stream in
      let (bytes, sizes) = try whole(stream)
      for length in Effort.sample(25, of: sizes[4] + 1..<sizes[5]) {
        let cut = Data(bytes.prefix(length))
        try cut.write(to: stream.url)
        var writer = try ArchiveStreamWriter<Address>(appendingTo: stream.url, recovering: true)
        let kept = stream.folder.appending(path: "stream.strata.cut")
        #expect(try Data(contentsOf: kept) == cut[sizes[4]...], "cut to \(length)")
        try writer.append(SessionStream.model(50))
        try writer.finish()
        #expect(try stream.read().models == SessionStream.models(0..<51))
        #expect(try stream.files == ["stream.strata"])
      }
    }
  }

  @Test(
    "X-30: recovering cuts an incomplete session that ends in zeros, as after a power failure",
    arguments: [1, 7, 4096, 70_000])
  func zeros(count: Int) throws {
    try SessionStream.with { stream in
      let (bytes, sizes) = try whole(stream)
      for length in [sizes[4], sizes[4] + 1, sizes[4] + 40, sizes[5] - 30] {
        try (bytes.prefix(length) + Data(count: count)).write(to: stream.url)
        try stream.session(50..<51, recovering: true)
        #expect(try stream.read().models == SessionStream.models(0..<51), "cut to \(length)")
      }
    }
  }

  @Test("X-30: recovering throws and cuts nothing if a byte before the last end is damaged", .tags(.long))
  func flips() throws {
    try SessionStream.with { stream in
      let (bytes, sizes) = try whole(stream)
      var harmless = 0
      for place in stride(from: 0, to: sizes[4], by: Effort.rounds(31, long: 3)) {
        var damaged = Data(bytes.prefix(sizes[5] - 5))
        damaged[place] ^= 0x40
        try damaged.write(to: stream.url)
        do {
          try stream.session(50..<51, recovering: true)
          // The flipped bit is unused padding after the end of the compressed data.
          #expect(try stream.read().models == SessionStream.models(0..<51), "byte \(place)")
          harmless += 1
        } catch {
          #expect(try stream.bytes == damaged && stream.files == ["stream.strata"], "byte \(place)")
        }
        try FileManager.default.removeItem(at: stream.url)
      }
      #expect(harmless < 20)
    }
  }

  @Test(
    "X-30: recovering throws and cuts nothing if the last session is complete but damaged", .tags(.long),
    arguments: Effort.sample(2, of: 0..<8))
  func damagedEnd(bit: Int) throws {
    try SessionStream.with { stream in
      let (bytes, sizes) = try whole(stream)
      for place in sizes[4]..<sizes[5] {
        var damaged = bytes
        damaged[place] ^= 1 << bit
        try damaged.write(to: stream.url)
        do {
          try stream.session(60..<61, recovering: true)
          #expect(try stream.read().models == SessionStream.models(0..<61), "byte \(place)")
        } catch {
          #expect(try stream.bytes == damaged && stream.files == ["stream.strata"], "byte \(place)")
        }
        try FileManager.default.removeItem(at: stream.url)
      }
    }
  }

  @Test("X-30: recovering throws and cuts nothing if a session before the incomplete one is missing")
  func missingBefore() throws {
    try SessionStream.with { stream in
      let (bytes, sizes) = try whole(stream)
      for session in 0..<4 {
        let start = session == 0 ? 0 : sizes[session - 1]
        let damaged = Data(bytes[..<start] + bytes[sizes[session]..<sizes[5] - 5])
        try damaged.write(to: stream.url)
        #expect(throws: ArchiveError.self) { try stream.session(60..<61, recovering: true) }
        #expect(try stream.bytes == damaged)
      }
    }
  }

  @Test("X-30: recovering cuts nothing if any read fails")
  func failingDisk() throws {
    try SessionStream.with { stream in
      let (bytes, sizes) = try whole(stream)
      let cut = Data(bytes.prefix(sizes[5] - 5))
      try cut.write(to: stream.url)
      var number = 0
      while true {
        let plan = FaultPlan(.read, number, .fails(5))
        let error: (any Error)? = plan.run {
          do {
            let writer = try ArchiveStreamWriter<Address>(appendingTo: stream.url, recovering: true)
            try writer.finish()
            return nil
          } catch { return error }
        }
        guard plan.wasReached else { break }
        #expect((error as? ArchiveError)?.code == .fileSystem, "read \(number)")
        #expect(try stream.bytes == cut && stream.files == ["stream.strata"], "read \(number)")
        number += 1
      }
      #expect(number > 3)
      #expect(try stream.read().models == SessionStream.models(0..<50))
    }
  }

  @Test("X-30: recovering throws and cuts nothing if a member exceeds a limit")
  func limit() throws {
    try SessionStream.with { stream in
      let (bytes, sizes) = try whole(stream)
      let cut = Data(bytes.prefix(sizes[5] - 5))
      try cut.write(to: stream.url)
      var limits = ArchiveLimits()
      limits.inflatedSize = 20
      let error = #expect(throws: ArchiveError.self) {
        _ = try ArchiveStreamWriter<Address>(appendingTo: stream.url, recovering: true, limits: limits)
      }
      #expect(try error?.code == .limitExceeded && stream.bytes == cut)
    }
  }

  @Test("X-30: a writer released before finish() leaves the cut bytes in a .cut file")
  func abandoned() throws {
    try SessionStream.with { stream in
      let (bytes, sizes) = try whole(stream)
      try bytes.prefix(sizes[5] - 5).write(to: stream.url)
      do {
        var writer = try ArchiveStreamWriter<Address>(appendingTo: stream.url, recovering: true)
        for number in 0..<50_000 { try writer.append(SessionStream.model(number)) }
      }
      #expect(try stream.files == ["stream.strata", "stream.strata.cut"])
      #expect(try stream.bytes == bytes.prefix(sizes[4]))
      // The next cut-off part gets its own file name.
      try bytes.prefix(sizes[5] - 5).write(to: stream.url)
      do { _ = try ArchiveStreamWriter<Address>(appendingTo: stream.url, recovering: true) }
      #expect(try stream.files == ["stream.strata", "stream.strata.cut", "stream.strata.cut-2"])
    }
  }
}

@Suite("Streams: concurrent writers and readers")
struct StreamSharingTests {
  private func code(_ body: () throws -> Void) -> ArchiveError.Code? {
    do { try body() } catch { return (error as? ArchiveError)?.code }
    return nil
  }

  @Test("X-31: a second writer throws fileInUse, and the first one loses no models", arguments: [false, true])
  func second(isNew: Bool) throws {
    try SessionStream.with { stream in
      _ = try stream.sessions(2)
      var first = try ArchiveStreamWriter<Address>(appendingTo: stream.url)
      for number in 20..<30_000 { try first.append(SessionStream.model(number)) }
      #expect(
        code {
          _ =
            try isNew
            ? ArchiveStreamWriter<Address>(creating: stream.url) : ArchiveStreamWriter<Address>(appendingTo: stream.url)
        } == .fileInUse)
      #expect(code { _ = try ArchiveStreamWriter<Address>(appendingTo: stream.url, recovering: true) } == .fileInUse)
      try first.finish()
      #expect(try stream.read().models == SessionStream.models(0..<30_000))
      #expect(try stream.files == ["stream.strata"])
    }
  }

  @Test("X-31: writers that wait for the file append one after the other")
  func waiting() async throws {
    try await SessionStream.with { stream in
      _ = try stream.sessions(1)
      await withThrowingTaskGroup(of: Void.self) { group in
        for number in 1...4 {
          group.addTask {
            var writer = try ArchiveStreamWriter<Address>(appendingTo: stream.url, waiting: .seconds(60))
            for model in number * 10..<number * 10 + 10 { try writer.append(SessionStream.model(model)) }
            try writer.finish()
          }
        }
      }
      #expect(try Set(stream.read().models.map(\.street)) == Set(SessionStream.models(0..<50).map(\.street)))
    }
  }

  @Test("X-31: finish() throws fileInUse if the file was replaced in the meantime")
  func replaced() throws {
    try SessionStream.with { stream in
      _ = try stream.sessions(1)
      let before = try stream.bytes
      var writer = try ArchiveStreamWriter<Address>(appendingTo: stream.url)
      try writer.append(SessionStream.model(10))
      try FileManager.default.removeItem(at: stream.url)
      try before.write(to: stream.url)
      var code: ArchiveError.Code?
      do { try writer.finish() } catch { code = (error as? ArchiveError)?.code }
      #expect(code == .fileInUse)
      #expect(try stream.bytes == before)
    }
  }

  @Test("X-31: finish() throws fileInUse if another writer created the stream in the meantime")
  func madeMeanwhile() throws {
    try SessionStream.with { stream in
      var first = try ArchiveStreamWriter<Address>(creating: stream.url)
      var second = try ArchiveStreamWriter<Address>(creating: stream.url)
      try first.append(SessionStream.model(0))
      try second.append(SessionStream.model(1))
      try first.finish()
      var code: ArchiveError.Code?
      do { try second.finish() } catch { code = (error as? ArchiveError)?.code }
      #expect(code == .fileInUse)
      #expect(try stream.read().models == SessionStream.models(0..<1))
      #expect(try stream.files == ["stream.strata"])
    }
  }

  @Test("X-31: a writer never removes bytes that another program appended")
  func foreignBytes() throws {
    try SessionStream.with { stream in
      _ = try stream.sessions(1)
      let before = try stream.bytes
      do {
        var writer = try ArchiveStreamWriter<Address>(appendingTo: stream.url)
        for number in 10..<30_000 { try writer.append(SessionStream.model(number)) }
        let handle = try FileHandle(forWritingTo: stream.url)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("somebody else's".utf8))
        try handle.close()
        var code: ArchiveError.Code?
        do { for number in 0..<30_000 { try writer.append(SessionStream.model(number)) } } catch {
          code = (error as? ArchiveError)?.code
        }
        #expect(code == .fileInUse)
      }
      #expect(
        try stream.bytes.starts(with: before)
          && String(decoding: stream.bytes.suffix(15), as: UTF8.self) == "somebody else's")
    }
  }

  @Test("X-31: while a writer appends, readers see only the finished sessions")
  func readers() throws {
    try SessionStream.with { stream in
      let sizes = try stream.sessions(3)
      var writer = try ArchiveStreamWriter<Address>(appendingTo: stream.url)
      for number in 30..<60_000 {
        try writer.append(SessionStream.model(number))
        guard number % 10_000 == 0 else { continue }
        #expect(try stream.read().models == SessionStream.models(0..<30))
        #expect(try Stamp(ofFile: stream.url).count == 30)
      }
      #expect(try stream.bytes.count > sizes[2])
      // A reader that started before the writer finished reads the earlier content.
      var iterator = ArchiveSequence(Address.self, from: stream.url).makeAsyncIterator()
      _ = try iterator.next()
      try writer.finish()
      var count = 1
      while try iterator.next() != nil { count += 1 }
      #expect(count == 30)
      #expect(try stream.read().models.count == 60_000)
    }
  }
}

@Suite("Streams: salvage")
struct SalvageTests {
  @Test("X-32: skipping damage reads all undamaged sessions and reports the gap")
  func members() throws {
    try SessionStream.with { stream in
      let sizes = try stream.sessions(6)
      let bytes = try stream.bytes
      for place in stride(from: 0, to: sizes[5], by: 7) {
        var damaged = bytes
        damaged[place] ^= 0x10
        try damaged.write(to: stream.url)
        let (models, gaps) = try stream.read(.skips)
        let session = sizes.firstIndex { place < $0 } ?? 0
        let lost = SessionStream.models(session * 10..<session * 10 + 10)
        let others = SessionStream.models(0..<60).filter { !lost.contains($0) }
        // Damage to an end member loses no models. Damage to an unused bit has no effect.
        #expect(models == others || models == SessionStream.models(0..<60), "byte \(place)")
        if models == others { #expect(gaps.count == 1, "byte \(place): \(gaps)") }
        if models == others, session < 5 { #expect(gaps.first?.modelCount == 10, "byte \(place): \(gaps)") }
        #expect(gaps.allSatisfy { $0.bytes.contains(place) || $0.bytes.isEmpty }, "byte \(place): \(gaps)")
        guard models == others else { continue }
        #expect(throws: ArchiveError.self, "byte \(place)") { try stream.read() }
        // Appending to a damaged stream throws and writes nothing.
        #expect(throws: ArchiveError.self, "byte \(place)") { try stream.session(60..<61) }
        #expect(try stream.bytes == damaged)
      }
    }
  }

  @Test("Bytes after an archive of one value are a gap")
  func bytesAfterAnArchive() throws {
    try SessionStream.with { stream in
      let one = try ArchiveEncoder().encode(["a": 1] as ArchiveValue)
      let two = try ArchiveEncoder().encode(["b": 2] as ArchiveValue)
      try (one + two).write(to: stream.url)
      let output = stream.folder.appending(path: "rescued.strata")
      let report = try ArchiveSalvage.salvage(stream.url, to: output)
      #expect(report.outcome == .partial && report.gaps.map(\.bytes) == [one.count..<one.count + two.count])
      #expect("\(report)".contains("bytes after the end of the archive"))
      #expect(try ArchiveDecoder().decodeValue(from: Data(contentsOf: output)) == ["a": 1])
    }
  }

  @Test("X-32: salvage copies the intact members of a damaged stream to a new stream", arguments: [0, 1, 3, 5])
  func streams(session: Int) throws {
    try SessionStream.with { stream in
      let sizes = try stream.sessions(6)
      var damaged = try stream.bytes
      damaged[(session == 0 ? 0 : sizes[session - 1]) + 100] ^= 1
      try damaged.write(to: stream.url)
      let output = stream.folder.appending(path: "rescued.strata")
      let report = try ArchiveSalvage.salvage(stream.url, to: output)
      #expect(report.modelCount == 50 && report.gaps.count == 1 && !report.isComplete)
      var iterator = ArchiveSequence(Address.self, from: output).makeAsyncIterator()
      var models: [Address] = []
      while let model = try iterator.next() { models.append(model) }
      #expect(
        models
          == SessionStream.models(0..<60).filter {
            !SessionStream.models(session * 10..<session * 10 + 10).contains($0)
          })
      #expect(try stream.bytes == damaged)
      // The salvaged stream can be appended to.
      var writer = try ArchiveStreamWriter<Address>(appendingTo: output)
      try writer.append(SessionStream.model(60))
      try writer.finish()
    }
  }

  @Test("X-32: skipping damage reads a stream in which a session is missing or repeated")
  func missing() throws {
    try SessionStream.with { stream in
      let sizes = try stream.sessions(4)
      let bytes = try stream.bytes
      try (bytes[..<sizes[0]] + bytes[sizes[1]...]).write(to: stream.url)
      let (models, gaps) = try stream.read(.skips)
      #expect(models == SessionStream.models(0..<10) + SessionStream.models(20..<40))
      #expect(gaps.map(\.memberCount) == [2] && gaps.map(\.modelCount) == [10])
      try (bytes[..<sizes[1]] + bytes[sizes[0]...]).write(to: stream.url)
      #expect(try stream.read(.skips).models == SessionStream.models(0..<40))
      #expect(throws: ArchiveError.self) { try stream.read() }
    }
  }

  @Test("The stamp of a salvaged partial array or dictionary counts only the salvaged elements")
  func countsOfContainers() throws {
    try SessionStream.with { stream in
      let output = stream.folder.appending(path: "rescued.strata")
      func check<T: Archivable>(_ value: T, _ count: (T) -> Int) throws {
        let bytes = try ArchiveEncoder(compression: .none).encode(value)
        try bytes.prefix(bytes.count / 4).write(to: stream.url)
        let report = try ArchiveSalvage.salvage(stream.url, to: output)
        let rescued = try Data(contentsOf: output)
        let found = try ArchiveDecoder().decode(T.self, from: rescued)
        #expect(!report.isComplete && (1..<1000).contains(count(found)))
        #expect(try Stamp(of: rescued).count == UInt64(count(found)))
      }
      try check(Array(0..<1000)) { $0.count }
      try check((0..<1000).map { "text \($0)" }) { $0.count }
      try check(Dictionary(uniqueKeysWithValues: (0..<1000).map { ("key \($0)", $0) })) { $0.count }
    }
  }

  @Test("Salvage throws if one of its output files is the input")
  func unprovenInput() throws {
    try SessionStream.with { stream in
      let input = stream.folder.appending(path: "out.unproven")
      let bytes = Data("no archive at all".utf8)
      try bytes.write(to: input)
      for output in [stream.folder.appending(path: "out"), input] {
        let error = #expect(throws: ArchiveError.self) { try ArchiveSalvage.salvage(input, to: output) }
        #expect(error?.code == .fileSystem && error?.reason.contains("choose a different path") == true)
      }
      #expect(try Data(contentsOf: input) == bytes)
    }
  }

  @Test("X-32: salvaging a truncated archive keeps the complete values before the cut")
  func values() throws {
    try SessionStream.with { stream in
      let value: ArchiveValue = [
        "title": "a title", "numbers": [1, 2, 3, 4],
        "inner": ["first": "x", "second": ["y", "z", "a longer text at the end"]],
      ]
      let bytes = try ArchiveEncoder(compression: .none).encode(value)
      let output = stream.folder.appending(path: "rescued.strata")
      var counts = Set<Int>()
      for length in 0..<bytes.count {
        try bytes.prefix(length).write(to: stream.url)
        try? FileManager.default.removeItem(at: output)
        do {
          let report = try ArchiveSalvage.salvage(stream.url, to: output)
          let found = try ArchiveDecoder().decodeValue(from: Data(contentsOf: output))
          #expect(Self.isPart(found, of: value), "cut to \(length): \(found)")
          // The only checksum is at the end of the file, so the salvaged values cannot be verified.
          #expect(report.outcome == (found == value ? .unverified : .partial), "cut to \(length)")
          counts.insert(found.objectValue?.count ?? 0)
        } catch let error as ArchiveError {
          #expect(error.isDamage && !FileManager.default.fileExists(atPath: output.path), "cut to \(length): \(error)")
        }
      }
      #expect(counts == [1, 2, 3])
      // Nothing shows which byte was flipped, so the whole file is rejected.
      var flipped = bytes
      flipped[bytes.count - 20] ^= 1
      try flipped.write(to: stream.url)
      #expect(throws: ArchiveError.self) { try ArchiveSalvage.salvage(stream.url, to: output) }
    }
  }

  private static func isPart(_ part: ArchiveValue, of whole: ArchiveValue) -> Bool {
    switch (part, whole) {
    case (.object(let one), .object(let other)):
      one.entries.allSatisfy { entry in other[entry.key].map { isPart(entry.value, of: $0) } ?? false }
    case (.array(let one), .array(let other)): other.starts(with: one)
    default: part == whole
    }
  }

  @Test("X-30: salvage throws fileSystem if a read fails, and creates no output")
  func failingDisk() throws {
    try SessionStream.with { stream in
      _ = try stream.sessions(3)
      let output = stream.folder.appending(path: "rescued.strata")
      for number in 0... {
        let plan = FaultPlan(.read, number, .fails(5))
        let code = plan.run {
          do { _ = try ArchiveSalvage.salvage(stream.url, to: output) } catch { return (error as? ArchiveError)?.code }
          return nil
        }
        guard plan.wasReached else { break }
        #expect(code == .fileSystem && !FileManager.default.fileExists(atPath: output.path), "read \(number)")
      }
    }
  }
}
