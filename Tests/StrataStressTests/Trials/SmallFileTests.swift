import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// Decodes files of less than 64 KB that take as much memory and time as possible.
@Suite("Memory for small files", .serialized)
struct SmallFileTests {
  /// The limit for the growth of the process's memory, as given in Docs/Reliability.md.
  static let mostMemory = 300 << 20
  /// The limit for a `Codable` type that tries one form after another, and allocates values of its own while doing so.
  static let mostMemoryAsCodable = 512 << 20

  /// The files that took the most memory before the limits took the cost of each value into account.
  private static let known: [SmallFile] = [
    SmallFile(scalar: .negative, container: .array, variants: 1),
    SmallFile(scalar: .relativeURL, container: .array, variants: 1),
    SmallFile(scalar: .uuidReference, container: .array, variants: 1),
    SmallFile(scalar: .longData, container: .array, variants: 300),
    SmallFile(scalar: .longText, container: .rows, variants: 300),
    SmallFile(scalar: .integer, container: .set, variants: 1),
    SmallFile(scalar: .null, container: .nested, variants: 1),
    SmallFile(scalar: .decimal, container: .dictionary, variants: 1),
  ]

  /// The number of random files in a search, set by `STRATA_SMALL_FILES`. A search also decodes all known files as every type.
  private static let searched = ProcessInfo.processInfo.environment["STRATA_SMALL_FILES"].flatMap { Int($0) }

  private static let files: [SmallFile] = {
    guard let searched else { return [known[0], known[4]] }
    var random = SeededRandom(seed: UInt64.random(in: 0..<1 << 32))
    let found = (0..<searched).map { _ in
      SmallFile(
        scalar: random.oneOf(SmallFile.Scalar.allCases), container: random.oneOf(SmallFile.Container.allCases),
        variants: random.oneOf([1, 2, 300, 3000]))
    }
    return known + found
  }()

  @Test("X-33: decoding a small file takes at most 300 MiB, or 512 MiB as a Codable type", arguments: files)
  func memory(file: SmallFile) async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [file = file as SmallFile] in
      BacktracesOfErrors.keepNone()
      let data = try file.archive()
      #expect(data.count <= SmallFile.largest)
      for reader in Self.searched == nil ? SmallFileReader.few : SmallFileReader.all {
        let peak = PeakMemory()
        let clock = ContinuousClock()
        var outcome = "read"
        let time = clock.measure {
          do { try reader.read(data) } catch { outcome = (error as? ArchiveError)?.code.rawValue ?? "\(error)" }
        }
        let growth = peak?.growth ?? 0
        let most = reader.isCodable ? Self.mostMemoryAsCodable : Self.mostMemory
        #expect(growth <= most, "\(file), as \(reader.name): \(growth >> 20) MiB")
        guard Self.searched != nil else { continue }
        print("small file: \(file), as \(reader.name): \(data.count) bytes, \(growth >> 20) MiB, \(time), \(outcome)")
      }
    }
    guard Self.searched != nil, let output = result?.standardOutputContent else { return }
    print(String(decoding: output, as: UTF8.self))
  }
}

/// Decodes a file as one type.
struct SmallFileReader: Sendable {
  let name: String
  var isCodable = false
  let read: @Sendable (Data) throws -> Void

  static func type<T: Archivable & SendableMetatype>(_ type: T.Type) -> SmallFileReader {
    SmallFileReader(name: "\(T.self)") { _ = try ArchiveDecoder().decode(T.self, from: $0) }
  }

  static func codable<T: Decodable & SendableMetatype>(_ type: T.Type) -> SmallFileReader {
    SmallFileReader(name: "\(T.self)", isCodable: true) { _ = try ArchiveDecoder().decode(T.self, from: $0) }
  }

  /// The readers of a short run: one for untyped values, one for decimals, and one for a `Codable` type that tries one form after another.
  static let few = [all[0], all[1], codable([CodableTree].self)]

  static let all: [SmallFileReader] = [
    SmallFileReader(name: "ArchiveValue") { _ = try ArchiveDecoder().decodeValue(from: $0) },
    type([Decimal].self), type([[Decimal]].self), type([URL].self), type([UUID].self), type([Int128].self),
    type([Double].self), type([String].self), type([Data].self), type([Date].self), type(Set<Decimal>.self),
    type(Set<URL>.self), type([String: Decimal].self), type([String: URL].self), type([String: ArchiveValue].self),
    type([Decimal: Int].self), codable([CodableTree].self), codable([String: CodableTree].self),
  ]
}
