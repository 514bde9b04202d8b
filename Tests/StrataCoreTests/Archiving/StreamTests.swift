import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Streams")
struct StreamTests {
  private func withStream(_ body: (URL) async throws -> Void) async throws {
    try await withFolder { folder in try await body(folder.appending(path: "stream.strata")) }
  }

  private func address(_ number: Int) -> Address { Address(street: "Street \(number)", country: "C\(number % 7)") }

  private func write(_ range: Range<Int>, to url: URL) throws {
    var writer = try ArchiveStreamWriter<Address>(creating: url)
    for number in range { try writer.append(address(number)) }
    try writer.finish()
  }

  private func read(_ url: URL) async throws -> [Address] {
    var all: [Address] = []
    for try await address in ArchiveSequence(Address.self, from: url) { all.append(address) }
    return all
  }

  @Test("Models are read in the order in which they were written", arguments: [0, 1, 1000, 50_000])
  func roundTrip(count: Int) async throws {
    try await withStream { url in
      try write(0..<count, to: url)
      #expect(try await read(url) == (0..<count).map(address))
      let stamp = try Stamp(ofFile: url)
      #expect(stamp.count == UInt64(count))
      #expect(stamp.kind == .end)
    }
  }

  @Test("`results` yields the same models, and an error as the last element", arguments: [0, 1, 10, 300])
  func results(left: Int) async throws {
    try await withStream { url in
      try write(0..<1000, to: url)
      #expect(try ArchiveSequence(Address.self, from: url).results.map { try $0.get() } == (0..<1000).map(address))
      // The remaining bytes contain no complete member, so `results` yields only an error.
      let whole = try Data(contentsOf: url)
      try whole.prefix(left).write(to: url)
      let results = Array(ArchiveSequence(Address.self, from: url).results)
      #expect(results.count == 1)
      #expect(throws: ArchiveError.self) { try results.last?.get() }
      // If only the end member is missing, all models are returned before the error.
      let end = try #require(whole.indices.dropLast(2).last { whole[$0...].starts(with: [0x1F, 0x8B, 8]) })
      try whole[..<end].write(to: url)
      let cut = Array(ArchiveSequence(Address.self, from: url).results)
      #expect(cut.dropLast().map { try? $0.get() } == (0..<1000).map(address))
      #expect(throws: ArchiveError.self) { try cut.last?.get() }
    }
  }

  @Test("Appending leaves the existing bytes unchanged")
  func appending() async throws {
    try await withStream { url in
      try write(0..<10, to: url)
      let before = try Data(contentsOf: url)
      var writer = try ArchiveStreamWriter<Address>(appendingTo: url)
      for number in 10..<20 { try writer.append(address(number)) }
      try writer.finish()
      #expect(try Data(contentsOf: url).starts(with: before))
      #expect(try await read(url) == (0..<20).map(address))
      #expect(try Stamp(ofFile: url).count == 20)
    }
  }

  @Test("A writer that does not finish leaves the file unchanged")
  func unfinished() async throws {
    try await withStream { url in
      try write(0..<10, to: url)
      let before = try Data(contentsOf: url)
      do {
        var writer = try ArchiveStreamWriter<Address>(appendingTo: url)
        for number in 0..<50_000 { try writer.append(address(number)) }
      }
      #expect(try Data(contentsOf: url) == before)
      do {
        var writer = try ArchiveStreamWriter<Address>(creating: url)
        try writer.append(address(1))
      }
      #expect(try Data(contentsOf: url) == before)
      #expect(try FileManager.default.contentsOfDirectory(atPath: url.deletingLastPathComponent().path).count == 1)
    }
  }

  @Test("A truncated stream throws, and appending to it requires `recovering: true`")
  func cut() async throws {
    try await withStream { url in
      try write(0..<10, to: url)
      let whole = try Data(contentsOf: url)
      for length in 1..<whole.count {
        try Data(whole.prefix(length)).write(to: url)
        await #expect(throws: ArchiveError.self, "cut to \(length)") { try await read(url) }
      }
      try (whole + Data([0x1F, 0x8B, 8])).write(to: url)
      #expect(throws: ArchiveError.self) { _ = try ArchiveStreamWriter<Address>(appendingTo: url) }
      var writer = try ArchiveStreamWriter<Address>(appendingTo: url, recovering: true)
      try writer.append(address(10))
      try writer.finish()
      #expect(try await read(url) == (0..<11).map(address))
    }
  }

  @Test(
    "A-7, X-8: a stream of a newer model version throws newerModel and stays unchanged, truncated or not",
    arguments: [true, false])
  func newer(isCut: Bool) async throws {
    struct Newer: DescribedModel {
      var street: String
      static let fields = Fields(
        Newer.self, name: "Address", version: 2, Field("street", \.street), make: { Newer(street: $0) })
    }
    try await withStream { url in
      var newer = try ArchiveStreamWriter<Newer>(creating: url)
      try newer.append(Newer(street: "x"))
      try newer.finish()
      let whole = try Data(contentsOf: url) + Data(isCut ? [0x1F, 0x8B, 8] : [])
      try whole.write(to: url)
      let error = #expect(throws: ArchiveError.self) {
        _ = try ArchiveStreamWriter<Address>(appendingTo: url, recovering: true)
      }
      #expect(error?.code == .newerModel && error?.foundVersion == 2)
      #expect(try Data(contentsOf: url) == whole)
      let reading = await #expect(throws: ArchiveError.self) { try await read(url) }
      #expect(reading?.code == .newerModel)
    }
  }

  @Test("Every single-bit flip throws an error or leaves the models unchanged", .tags(.long))
  func flips() async throws {
    try await withStream { url in
      try write(0..<3, to: url)
      let whole = try Data(contentsOf: url)
      let models = try await read(url)
      for bit in Effort.sample(300, of: 0..<whole.count * 8) {
        var flipped = whole
        flipped[bit / 8] ^= 1 << (bit % 8)
        try flipped.write(to: url)
        if let read = try? await read(url) { #expect(read == models, "bit \(bit)") }
      }
    }
  }

  @Test("A stream writer remains usable after a model fails to encode")
  func failing() async throws {
    struct Deep: Archivable {
      var levels: Int
      func write(to writer: inout ArchiveWriter) throws {
        var value = ArchiveValue.string("leaf of \(levels)")
        for _ in 0..<levels { value = .array([value]) }
        try writer.write(value)
      }
      static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Deep {
        var (value, levels) = (value, 0)
        while let inner = value.arrayValue?.first { (value, levels) = (inner, levels + 1) }
        return Deep(levels: levels)
      }
    }
    try await withStream { url in
      var writer = try ArchiveStreamWriter<Deep>(creating: url)
      for levels in [1, 2, 1000, 3] {
        do { try writer.append(Deep(levels: levels)) } catch { #expect(levels == 1000) }
      }
      try writer.finish()
      var found: [Int] = []
      for try await deep in ArchiveSequence(Deep.self, from: url) { found.append(deep.levels) }
      #expect(found == [1, 2, 3])
    }
  }

  @Test("Encoding to a URL replaces the file, and decoding from the URL returns the new value")
  func files() async throws {
    try await withStream { url in
      try ArchiveEncoder().encode(address(1), to: url)
      try ArchiveEncoder().encode(address(2), to: url)
      #expect(try ArchiveDecoder().decode(Address.self, from: url) == address(2))
      #expect(try Stamp(ofFile: url).kind == .single)
      let error = await #expect(throws: ArchiveError.self) { try await read(url) }
      #expect(error?.code == .typeMismatch)
      #expect(throws: ArchiveError.self) {
        try ArchiveDecoder().decode(Address.self, from: url.deletingLastPathComponent())
      }
    }
  }
}
