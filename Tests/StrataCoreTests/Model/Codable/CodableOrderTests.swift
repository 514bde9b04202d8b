import Foundation
import StrataTestSupport
import Testing

@testable import StrataCore

/// Sets and dictionaries of Codable elements, whose iteration order depends on their memory addresses.
@Suite("Codable sets and dictionaries have a deterministic order")
struct CodableOrderTests {
  private struct Name: Codable, Hashable { var name: String }

  /// Returns the distinct archives of many equal values. The values exist at the same time, so that their iteration orders differ.
  private static func archives<T: Codable>(_ make: () -> T) throws -> Set<Data> {
    let values = (0..<200).map { _ in make() }
    return Set(try values.map { try ArchiveEncoder(compression: .none).encode($0) })
  }
  private static let names = (0..<4).map { Name(name: "n\($0)") }

  @Test("Equal sets and dictionaries of Codable elements encode to equal bytes at every depth")
  func equalBytes() throws {
    let names = Self.names
    func set() -> Set<Name> { Set(names) }
    func dictionary() -> [Name: Size] {
      Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, Size(width: $0, height: 1)) })
    }
    #expect(try Self.archives(set).count == 1)
    #expect(try Self.archives(dictionary).count == 1)
    #expect(try Self.archives { [set()] }.count == 1)
    #expect(try Self.archives { [dictionary()] }.count == 1)
    #expect(try Self.archives { ["a": [set()]] }.count == 1)
    #expect(try Self.archives { Set([set()]) }.count == 1)
    #expect(try Self.archives { [set(): dictionary()] }.count == 1)
    #expect(try Self.archives { Optional(dictionary()) }.count == 1)
    #expect(try Self.archives { CodableBox(value: dictionary()) }.count == 1)
    #expect(try Self.archives { CodableBox(value: CodableBox(value: set())) }.count == 1)
    #expect(try Self.archives { CodableBox(value: [[set()]: 1]) }.count == 1)
  }

  /// Encodes its own elements, and then encodes a dictionary or a set in the same place, which replaces them.
  private struct Twice<Value: Codable>: Codable {
    var first: [Name]
    var value: Value

    init(first: [Name], value: Value) {
      self.first = first
      self.value = value
    }
    init(from decoder: any Decoder) throws {
      self.init(first: [], value: try decoder.singleValueContainer().decode(Value.self))
    }
    func encode(to encoder: any Encoder) throws {
      var elements = encoder.unkeyedContainer()
      for name in first { try elements.encode(name) }
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
  }

  @Test("Encoding a set or dictionary replaces the value encoded before in the same place", arguments: 0..<4)
  func encodedTwice(count: Int) throws {
    let first = Array(Self.names.prefix(count))
    for kept in 0...Self.names.count {
      let names = Self.names.prefix(kept)
      func dictionary() -> [Name: Int] {
        Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })
      }
      let archives = try Self.archives { CodableBox(value: Twice(first: first, value: dictionary())) }
      #expect(archives.count == 1)
      let archive = try #require(archives.first)
      #expect(
        try ArchiveDecoder().decode(CodableBox<Twice<[Name: Int]>>.self, from: archive).value.value == dictionary())
      #expect(try Self.archives { CodableBox(value: Twice(first: first, value: Set(names))) }.count == 1)
    }
  }

  private struct CodableBox<Value: Codable>: Codable { var value: Value }
}
