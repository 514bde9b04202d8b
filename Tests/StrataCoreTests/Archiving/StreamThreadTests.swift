import Foundation
import StrataTestSupport
import Testing

@testable import StrataCore

/// A number. Decoding it increments the task-local counter and records the task-local tenant.
private struct Witness: Archivable {
  @TaskLocal static var tenant = ""
  @TaskLocal static var decoded: StrataCore.Mutex<Int>?

  var number: Int
  var tenant = ""
  var padding = ""

  static let _archiveTypeName = "Witness"

  func write(to writer: inout ArchiveWriter) throws { writer.write("\(number) \(padding)") }

  static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Witness {
    decoded?.withLock { $0 += 1 }
    let words = value.stringValue?.split(separator: " ", maxSplits: 1) ?? []
    return Witness(number: words.first.flatMap { Int($0) } ?? -1, tenant: tenant)
  }
}

@Suite("Streams on several threads") struct StreamThreadTests {
  private static func addresses(_ random: inout SeededRandom, _ count: Int) -> [Address] {
    (0..<count).map { number in
      // Some models are larger than a member.
      let length = random.isOnce(in: 400) ? random.below(400_000) : random.below(1500)
      let words = (0..<length / 8).map { _ in String(random.next() % 1_000_000, radix: 36) }
      return Address(street: words.joined(separator: " "), country: "C\(number % 7)")
    }
  }

  /// The results of a reader.
  private struct Outcome: Equatable {
    var models: [String] = []
    var error: String?
    var gaps: [String] = []
    var report = DecodingReport()
  }

  private static func read<T: Archivable & SendableMetatype>(
    _ type: T.Type, _ url: URL, threads: Int, _ damage: StreamGap.Handling = .fails,
    limits: ArchiveLimits = ArchiveLimits()
  ) -> Outcome {
    var iterator = ArchiveSequence(type, from: url, limits: limits, damage: damage, threads: threads)
      .makeAsyncIterator()
    var outcome = Outcome()
    do { while let model = try iterator.next() { outcome.models.append("\(model)") } } catch {
      outcome.error = "\(error)"
      #expect((try? iterator.next()) ?? nil == nil)
    }
    (outcome.gaps, outcome.report) = (iterator.gaps.map(\.description), iterator.report)
    return outcome
  }

  @Test("The bytes written and the models read do not depend on the number of threads", .tags(.long))
  func bytes() throws {
    for seed in 0..<UInt64(Effort.rounds(3, long: 40)) {
      var random = SeededRandom(seed: seed)
      let level = random.oneOf([CompressionLevel.none, .fastest, .balanced])
      let sessions = (0...random.below(3)).map { _ in Self.addresses(&random, random.below(2000)) }
      try withFolder { folder in
        func write(threads: Int) throws -> URL {
          let url = folder.appending(path: "\(threads)")
          for (number, models) in sessions.enumerated() {
            var writer =
              try number == 0
              ? ArchiveStreamWriter<Address>(creating: url, compression: level, threads: threads)
              : ArchiveStreamWriter<Address>(appendingTo: url, compression: level, threads: threads)
            for model in models { try writer.append(model) }
            try writer.finish()
          }
          return url
        }
        let expected = try Data(contentsOf: write(threads: 1))
        for threads in [0, 2, 3, 8] {
          let url = try write(threads: threads)
          #expect(try Data(contentsOf: url) == expected, "seed \(seed), \(threads) threads")
          for reading in [1, threads] {
            let found = try ArchiveSequence(Address.self, from: url, threads: reading).results.map { try $0.get() }
            #expect(found == sessions.flatMap(\.self), "seed \(seed), \(reading) threads")
          }
        }
      }
    }
  }

  /// Returns the bytes of a random stream. Some of its members have correct checksums but contain no models.
  private static func stream(_ random: inout SeededRandom) throws -> [UInt8] {
    var file: [UInt8] = []
    var stamp = Stamp(typeName: "Person", modelVersion: 1)
    let hasLinks = !random.isOnce(in: 4)
    var total: (count: UInt64, size: UInt64) = (0, 0)
    for number in 0..<(6 + random.below(12)) {
      if random.isOnce(in: 5) {
        (stamp.kind, stamp.count, stamp.plainSize) = (.end, total.count, total.size)
        try Gzip.appendMember(
          body: RawSpan(), stamp: stamp, link: hasLinks ? StreamLink(after: file.bytes) : nil, to: &file)
        stamp.sequenceNumber += 1
      }
      var writer = ArchiveWriter()
      writer.beginCountedArray()
      let count = 1 + random.below(60)
      for index in 0..<count {
        try writer.writeElement(PersonV1(fullName: "p\(number)-\(index)", street: "s\(random.below(9))", born: 1))
      }
      writer.setCount(UInt32(count))
      var body = writer.buffer.array()
      if random.isOnce(in: 7) { body[random.below(body.count)] ^= UInt8(1 + random.below(255)) }
      (stamp.kind, stamp.count) = (.member, UInt64(random.isOnce(in: 15) ? count + 1 : count))
      total = (total.count + stamp.count, total.size + UInt64(body.count))
      try Gzip.appendMember(
        body: body.bytes, stamp: stamp, level: .fastest, link: hasLinks ? StreamLink(after: file.bytes) : nil, to: &file
      )
      stamp.sequenceNumber += random.isOnce(in: 30) ? 2 : 1
    }
    (stamp.kind, stamp.count, stamp.plainSize) = (.end, total.count, total.size)
    try Gzip.appendMember(
      body: RawSpan(), stamp: stamp, link: hasLinks ? StreamLink(after: file.bytes) : nil, to: &file)
    return file
  }

  @Test("A damaged stream yields the same models, error, gaps and report with any number of threads", .tags(.long))
  func damage() throws {
    var errors = 0, gaps = 0
    for seed in 0..<UInt64(Effort.rounds(60, long: 300)) {
      var random = SeededRandom(seed: seed)
      var bytes = try Self.stream(&random)
      for _ in 0..<random.below(3) {
        let place = random.below(bytes.count)
        let range = place..<min(bytes.count, place + random.below(400))
        switch random.below(4) {
        case 0: bytes[place] ^= UInt8(1 + random.below(255))
        case 1: bytes.removeSubrange(range)
        case 2: bytes.insert(contentsOf: Array(bytes[range]), at: random.below(bytes.count))
        default: bytes.removeLast(random.below(200))
        }
      }
      try withFolder { folder in
        let url = folder.appending(path: "stream")
        try Data(bytes).write(to: url)
        for damage in [StreamGap.Handling.fails, .skips] {
          let expected = Self.read(Person.self, url, threads: 1, damage)
          errors += expected.error == nil ? 0 : 1
          gaps += expected.gaps.count
          for threads in [2, 5] {
            #expect(Self.read(Person.self, url, threads: threads, damage) == expected, "seed \(seed), \(damage)")
          }
        }
      }
    }
    #expect(errors > 20 && gaps > 20)
  }

  @Test("The work limits of a stream do not depend on the number of threads", arguments: [1, 4, 16, 40, 64])
  func budget(ratio: Int) throws {
    try withFolder { folder in
      let url = folder.appending(path: "stream")
      var writer = try ArchiveStreamWriter<ArchiveValue>(creating: url, threads: 1)
      for number in 0..<32 {
        let text = String(repeating: "\(number)", count: 32 << 10)
        // Every other group of eight members is highly compressible.
        let count = number / 8 % 2 == 0 ? 70 : 1
        try writer.append(.array([ArchiveValue](repeating: .string(text), count: count)))
      }
      try writer.finish()
      var codes = Set<String>()
      for values in [100, 1 << 30] {
        for bytes in [3 << 20, 70 << 20, 1 << 34] {
          var limits = ArchiveLimits()
          (limits.maxWorkPerByte, limits.values, limits.expandedBytes) = (ratio, values, bytes)
          let expected = Self.read(ArchiveValue.self, url, threads: 1, limits: limits)
          codes.insert(expected.error == nil ? "all" : "\(expected.models.count)")
          for threads in [2, 6] {
            let found = Self.read(ArchiveValue.self, url, threads: threads, limits: limits)
            #expect(found == expected, "\(values), \(bytes), \(threads): \(found.models.count)")
          }
        }
      }
      #expect(codes.count > 1)
    }
  }

  /// Calls `body` with the URL of a stream that has 60 members with ten models each.
  private static func withWitnesses(_ body: (URL) throws -> Void) throws {
    try withFolder { folder in
      let url = folder.appending(path: "stream")
      var writer = try ArchiveStreamWriter<Witness>(creating: url, compression: .fastest)
      let padding = String(repeating: "padding ", count: 3400)
      for number in 0..<600 { try writer.append(Witness(number: number, padding: "\(number) \(padding)")) }
      try writer.finish()
      try body(url)
    }
  }

  @Test("Models decoded ahead see the task-local values of the reading task", arguments: [1, 2, 6])
  func taskLocals(threads: Int) throws {
    try Self.withWitnesses { url in
      try Witness.$tenant.withValue("tenant") {
        let models = try ArchiveSequence(Witness.self, from: url, threads: threads).results.map { try $0.get() }
        #expect(models.map(\.number) == Array(0..<600))
        #expect(models.allSatisfy { $0.tenant == "tenant" })
      }
    }
  }

  @Test("The iterator decodes a few members ahead, and stops when it is released")
  func ahead() async throws {
    // `readAhead` blocks its thread. It runs on a separate thread, so that Swift's thread pool stays free for decoding ahead.
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try Self.readAhead() }) }
    }
  }

  private static func readAhead() throws {
    try Self.withWitnesses { url in
      let decoded = StrataCore.Mutex(0)
      try Witness.$decoded.withValue(decoded) { () throws in
        var iterator: ArchiveSequence<Witness>.Iterator? =
          ArchiveSequence(Witness.self, from: url, threads: 3).makeAsyncIterator()
        let first = try iterator?.next()
        #expect(first?.number == 0)
        // If too few members are decoded ahead, this loop runs until the time limit of the test.
        while decoded.withLock({ $0 }) < 20 { usleep(1000) }
        // After the first member, up to six more are queued.
        usleep(20_000)
        #expect(decoded.withLock { $0 } <= 80)
        iterator = nil
        // If a member is already being decoded, its decoding is completed.
        usleep(300_000)
        let after = decoded.withLock { $0 }
        usleep(100_000)
        #expect(decoded.withLock { $0 } == after)
      }
    }
  }

  @Test("A cancelled task continues to read, but decodes nothing ahead")
  func cancellation() async throws {
    try await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try Self.withWitnesses { url in
        let decoded = StrataCore.Mutex(0)
        try Witness.$decoded.withValue(decoded) { () throws in
          var iterator = ArchiveSequence(Witness.self, from: url, threads: 4).makeAsyncIterator()
          var size: Int?
          var count = 0
          while let model = try iterator.next() {
            #expect(model.number == count)
            let found = decoded.withLock { $0 }
            // After the first model, `found` is the number of models in the first member.
            size = size ?? found
            #expect(found <= count + (size ?? 0))
            count += 1
          }
          #expect(count == 600)
        }
      }
    }.value
  }

  #if os(Linux)
    @Test("Models read from a pipe are returned before the next member arrives")
    func pipe() throws {
      try Self.withWitnesses { url in
        let bytes = try Data(contentsOf: url)
        let pipe = Pipe()
        let isFirstRead = DispatchSemaphore(value: 0)
        var reader = try MemberReader(url: url)
        let first = try reader.next().map { _ in reader.offset } ?? 0
        Thread.detachNewThread {
          try? pipe.fileHandleForWriting.write(contentsOf: bytes.prefix(first))
          isFirstRead.wait()
          try? pipe.fileHandleForWriting.write(contentsOf: bytes.dropFirst(first))
          try? pipe.fileHandleForWriting.close()
        }
        let path = URL(fileURLWithPath: "/proc/self/fd/\(pipe.fileHandleForReading.fileDescriptor)")
        var iterator = ArchiveSequence(Witness.self, from: path, threads: 4).makeAsyncIterator()
        #expect(try iterator.next()?.number == 0)
        isFirstRead.signal()
        var count = 1
        while let model = try iterator.next() {
          #expect(model.number == count)
          count += 1
        }
        #expect(count == 600)
      }
    }
  #endif
}
