import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Deltas")
struct RowDeltaTests {
  private func bytes(_ count: Int, _ alphabet: Int, _ random: inout SeededRandom) -> [UInt8] {
    (0..<count).map { _ in UInt8(random.below(alphabet)) }
  }

  /// Returns the bytes with some pieces removed, inserted, moved or repeated.
  private func edited(_ base: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
    var target = base
    for _ in 0..<random.below(6) {
      let start = random.below(target.count + 1), end = start + random.below(target.count - start + 1)
      switch random.below(5) {
      case 0: target.removeSubrange(start..<end)
      case 1: target.insert(contentsOf: bytes(random.below(50), 256, &random), at: start)
      case 2: target.insert(contentsOf: target[start..<end], at: random.below(target.count + 1))
      case 3: target = Array(target[start...] + target[..<start])
      default: if start < target.count { target[start] ^= 1 }
      }
    }
    return target
  }

  @Test(
    "Applying a delta restores the target bytes", .tags(.long), arguments: 0..<UInt64(Effort.rounds(20, long: 120)))
  func roundTrip(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let base = bytes(random.oneOf([0, 1, 7, 8, 9, 100, 3000, 40_000]), random.oneOf([1, 2, 30, 256]), &random)
    for _ in 0..<4 {
      let target = edited(base, &random)
      guard let delta = try RowDelta.encode(target, from: base) else { continue }
      #expect(try RowDelta.apply(delta, to: base, limits: ArchiveLimits()) == target, "seed \(seed)")
      #expect(delta.count < target.count)
    }
  }

  @Test(
    "Applying a damaged delta throws or returns the original bytes", .tags(.long),
    arguments: 0..<UInt64(Effort.rounds(10, long: 60)))
  func damage(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let base = bytes(400, 20, &random)
    var target = base
    target.insert(contentsOf: bytes(20, 256, &random), at: 200)
    let delta = try #require(try RowDelta.encode(target, from: base))
    for _ in 0..<200 {
      var damaged = delta
      switch random.below(3) {
      case 0: damaged = damaged.prefix(random.below(damaged.count))
      case 1: damaged.append(UInt8(random.below(256)))
      default: damaged[random.below(damaged.count)] ^= UInt8(1) << random.below(8)
      }
      do {
        #expect(try RowDelta.apply(Data(damaged), to: base, limits: ArchiveLimits()) == target)
      } catch let error as StoreError { #expect(error.code == .damaged) } catch let error as ArchiveError {
        #expect(error.code == .damaged)
      }
    }
    // Applies the delta to bytes that are not its base.
    #expect(throws: (any Error).self) {
      try RowDelta.apply(delta, to: Array(base.reversed()), limits: ArchiveLimits())
    }
  }

  @Test("SHA-256 digests match FIPS 180-4")
  func digests() {
    func hex(_ text: String) -> String {
      SHA256.digest(of: Array(text.utf8).bytes).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        .joined()
    }
    #expect(hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
        == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    #expect(
      hex(String(repeating: "a", count: 1_000_000))
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }
}
