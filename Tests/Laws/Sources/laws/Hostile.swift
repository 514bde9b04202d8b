import Foundation
import Strata

/// The laws about hostile bytes and about limits.
extension Trial {
  mutating func hostile() {
    damaged()
    limits()
    cut()
  }

  /// Checks that decoding a body with a few changed bytes either throws or returns a value that survives a round trip. Decoding never
  /// traps.
  private mutating func damaged() {
    let value = sample(isAny: true)
    var random = SeededRandom(seed: seed &+ 0xDA)
    guard let body = try? ArchiveEncoder().encodeBody(value), body.count > 8 else { return }
    for _ in 0..<8 {
      var bytes = Array(body)
      for _ in 0...random.below(3) {
        let place = 3 + random.below(bytes.count - 3)
        switch random.below(4) {
        case 0: bytes[place] = UInt8(random.below(256))
        case 1: bytes[place] ^= UInt8(1 << random.below(8))
        case 2: bytes.remove(at: place)
        default:
          bytes.insert(random.oneOf([0, 0x1B, 0x80, 0xC4, 0xD8, 0xF6, bytes[random.below(bytes.count)]]), at: place)
        }
        if bytes.count < 5 { break }
      }
      let other = Data(bytes)
      func decoded<T: Archivable>(_ type: T.Type) -> T? {
        do { return try ArchiveDecoder().decodeBody(T.self, from: other) } catch {
          if !(error is ArchiveError) { add(.damaged, H.kind.name, "\(error)") }
          return nil
        }
      }
      if let made = decoded(H.self) {
        do {
          let again = try ArchiveDecoder().decodeBody(H.self, from: ArchiveEncoder().encodeBody(made))
          let same = again.plainFields == made.plainFields
          add(.damaged, H.kind.name, same ? nil : "\(Self.hex(other)) is read, and not the same again")
        } catch let error as ArchiveError {
          // The decoder accepts URLs with invalid text, and different keys with the same spelling. The encoder rejects both.
          let isRefused = [.notEncodable, .limitExceeded].contains(error.code)
          add(.damaged, H.kind.name, isRefused ? nil : "\(Self.hex(other)): \(error)")
        } catch { add(.damaged, H.kind.name, "\(error)") }
      } else {
        add(.damaged, H.kind.name, nil)
      }
      // Decodes the same bytes without types.
      if let made = decoded(ArchiveValue.self), let again = try? ArchiveEncoder().encodeBody(made) {
        let same =
          try? ArchiveEncoder().encodeBody(ArchiveDecoder().decodeBody(ArchiveValue.self, from: again)) == again
        add(.damaged, H.kind.name, same == true ? nil : "\(Self.hex(other)) without types is not the same again")
      }
    }
  }

  private static func hex(_ data: Data) -> String { data.map { String($0, radix: 16) }.joined(separator: " ") }

  /// Checks that a decoder can read everything that an encoder with the same limits writes. If the encoder rejects a value because of its
  /// depth, the number of elements in a container or the length of a string, the decoder rejects it as well.
  private mutating func limits() {
    let value = sample(isAny: true)
    guard let body = try? ArchiveEncoder().encodeBody(value) else { return }
    for limit in [1, 2, 4, 9] {
      for kind in 0..<4 {
        var limits = ArchiveLimits()
        switch kind {
        case 0: limits.depth = limit
        case 1: limits.count = limit
        case 2: limits.stringLength = limit * 2
        default: limits.values = limit * 16
        }
        let written = try? ArchiveEncoder(limits: limits).encodeBody(value)
        let read = try? ArchiveDecoder(limits: limits).decodeBody(H.self, from: body)
        // The number of values depends on how they are decoded. The encoder counts the largest possible number, so it may reject a value
        // that the decoder accepts.
        let isRefused = written == nil && (read == nil || kind == 3)
        let agrees = isRefused || (written == body && read != nil)
        add(
          .limits, H.kind.name,
          agrees ? nil : "kind \(kind), limit \(limit): written \(written != nil), read \(read != nil)")
      }
    }
  }

  /// Salvaging a truncated archive returns exactly the models that are complete before the cut.
  private mutating func cut() {
    let values = (0..<3).map { sample(isAny: true, other: $0) }
    guard !H.types.contains(where: { type in ["Thing", "Being", "Bare"].contains { type.type.contains($0) } }) else {
      return
    }
    var random = SeededRandom(seed: seed &+ 0xC07)
    let folder = FileManager.default.temporaryDirectory.appending(path: "strata-laws-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }  // A folder that remains is harmless.
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let (url, salvaged) = (folder.appending(path: "list"), folder.appending(path: "salvaged"))
      let whole = try ArchiveEncoder(compression: .none).encode(values)
      for _ in 0..<3 {
        try whole.prefix(40 + random.below(whole.count - 40)).write(to: url)
        if (try? ArchiveDecoder().decode([H].self, from: Data(contentsOf: url))) != nil {
          add(.cut, H.kind.name, "a part was read as the whole")
        }
        do {
          let report = try ArchiveSalvage.salvage(url, to: salvaged)
          let found = try ArchiveDecoder().decode([H].self, from: Data(contentsOf: salvaged))
          let isRight = found.count <= 3 && zip(found, values).allSatisfy { $0.plainFields == $1.plainFields }
          add(.cut, H.kind.name, isRight && !report.isComplete ? nil : "\(found.count) of 3: \(report)")
        } catch let error as ArchiveError {
          add(.cut, H.kind.name, [.truncated, .damaged].contains(error.code) ? nil : "\(error)")
        }
      }
    } catch { add(.cut, H.kind.name, "\(error)") }
  }
}
