import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Archive Concurrency")
struct ArchiveConcurrencyTests {
  @Test("X-1: a hundred tasks share one encoder and one decoder")
  func encoderAndDecoder() async throws {
    let source = Everything()
    let expected = try ArchiveEncoder().encode(source)
    await hundredTasks(share: (encoder: ArchiveEncoder(), decoder: ArchiveDecoder())) { shared, _ in
      let data = try shared.encoder.encode(source)
      #expect(data == expected)
      #expect(try shared.decoder.decode(Everything.self, from: data) == source)
    }
  }

  @Test("X-1: a hundred tasks share one migration, one upgrader and the archives")
  func chain() async throws {
    let old = try ArchiveEncoder().encode((0..<20).map { PersonV1(fullName: "p\($0)", street: "s", born: 1) })
    let one = try ArchiveEncoder().encode(PersonV1(fullName: "p", street: "s", born: 1))
    let today = try ArchiveUpgrader(Person.self).upgrade(one)
    await hundredTasks(share: (decoder: ArchiveDecoder(), upgrader: ArchiveUpgrader(Person.self))) { shared, _ in
      var report = DecodingReport()
      let people = try shared.decoder.decode([Person].self, from: old, report: &report)
      #expect(people.map(\.name) == (0..<20).map { "P\($0)" })
      #expect(report.upgrades.map(\.fromVersion) == [1])
      #expect(try shared.upgrader.upgrade(one) == today)
      #expect(
        try Person.migration.upgrade(ModelRecord(typeName: "Person", modelVersion: 3, fields: [])).modelVersion == 4)
    }
  }

  @Test("X-1: a hundred tasks each compress a large archive on several threads")
  func large() async throws {
    let text = (0..<20_000).map { "line \($0)" }
    let expected = try ArchiveEncoder(threads: 1).encode(text)
    #expect(try ArchiveEncoder().encodeBody(text).count > 128 << 10)
    await hundredTasks(share: ArchiveEncoder(threads: 3), rounds: 1) { encoder, _ in
      let data = try encoder.encode(text)
      #expect(data == expected)
    }
  }

  @Test("X-1: more tasks than pooled zlib streams compress at several levels and read damaged archives")
  func streams() async throws {
    let text = (0..<3000).map { "\($0 % 97) line" }
    let broken = try Data(ArchiveEncoder().encode(text).dropLast(40))
    let encoders = [.none, .fastest, .balanced, .best].map { ArchiveEncoder(compression: $0) }
    let expected = try encoders.map { try $0.encode(text) }
    await hundredTasks(share: encoders, rounds: 2) { encoders, task in
      let place = task % encoders.count
      let data = try encoders[place].encode(text)
      #expect(data == expected[place])
      // Yields now that this task's zlib stream is back in the pool, so that other tasks can take it.
      await Task.yield()
      #expect(try ArchiveDecoder().decode([String].self, from: data) == text)
      #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode([String].self, from: broken) }
    }
  }

  @Test("X-1: a hundred tasks each write and read their own file, and all read a shared one")
  func files() async throws {
    try await withFolder { folder in
      let all = (0..<300).map { Address(street: "Street \($0)", country: "CH") }
      func write(_ url: URL) throws {
        var writer = try ArchiveStreamWriter<Address>(creating: url)
        for address in all { try writer.append(address) }
        try writer.finish()
      }
      let shared = folder.appending(path: "shared.strata")
      try write(shared)
      await hundredTasks(share: ArchiveSequence(Address.self, from: shared), rounds: 1) { sequence, task in
        var read: [Address] = []
        for try await address in sequence { read.append(address) }
        #expect(read == all)
        let own = folder.appending(path: "\(task).strata")
        try ArchiveEncoder().encode(all, to: own)
        #expect(try ArchiveDecoder().decode([Address].self, from: own) == all)
        var writer = try ArchiveStreamWriter<Address>(creating: own)
        try writer.append(all[task])
        try writer.finish()
        let stamp = try Stamp(ofFile: own)
        #expect(stamp.count == 1)
      }
    }
  }

  @Test("X-1, M-13: a hundred tasks each archive their own object graph")
  func graphs() async throws {
    let expected = try ArchiveEncoder().encode(Branch.tree(0))
    await hundredTasks(share: (encoder: ArchiveEncoder(), decoder: ArchiveDecoder()), rounds: 2) { shared, task in
      let tree = Branch.tree(task)
      let again = try shared.decoder.decode(Branch.self, from: shared.encoder.encode(tree))
      #expect(again.name == "root \(task)" && again.leaves.count == 10)
      #expect(again.leaves.allSatisfy { $0.parent === again && $0.leaves.allSatisfy { $0.parent != nil } })
      again.name = "root 0"
      for (place, branch) in again.leaves.enumerated() { branch.name = "0.\(place)" }
      #expect(try shared.encoder.encode(again) == expected)
    }
  }

  @Test("X-1: tasks write and read streams with many members on several threads, and some stop early")
  func threads() async throws {
    try await withFolder { folder in
      let padding = String(repeating: "padding ", count: 4000)
      let all = (0..<100).map { Address(street: "Street \($0) \(padding)", country: "CH") }
      await hundredTasks(share: all, rounds: 1) { all, task in
        guard task % 10 == 0 else { return }
        let url = folder.appending(path: "\(task).strata")
        func write(_ count: Int) throws -> ArchiveStreamWriter<Address> {
          var writer = try ArchiveStreamWriter<Address>(creating: url, compression: .fastest, threads: 2 + task % 3)
          for address in all.prefix(count) { try writer.append(address) }
          return writer
        }
        try write(all.count).finish()
        // An unfinished writer leaves the file unchanged.
        _ = try write(40 + task / 2)
        for count in [task, all.count] {
          var read: [Address] = []
          for try await address in ArchiveSequence(Address.self, from: url, threads: 4) {
            read.append(address)
            if read.count >= count { break }
          }
          #expect(read == Array(all.prefix(max(1, count))))
        }
        let reading = Task {
          var count = 0
          for try await _ in ArchiveSequence(Address.self, from: url, damage: .skips, threads: 3) { count += 1 }
          return count
        }
        if task % 20 == 0 { reading.cancel() }
        #expect(try await reading.value == all.count)
      }
    }
  }
}
