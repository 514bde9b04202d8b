import Foundation
import StrataTestSupport
import Testing

@testable import StrataCore

/// Bodies that the library would encode differently, and hostile bodies.
@Suite struct BodyFormTests {
  private func read(_ hex: String, times: Int = 1, _ end: String = "") throws -> ArchiveValue {
    let text = "d90100" + String(repeating: hex, count: times) + end
    var bytes: [UInt8] = []
    var rest = text[...]
    while let byte = UInt8(rest.prefix(2), radix: 16) {
      bytes.append(byte)
      rest = rest.dropFirst(2)
    }
    return try ArchiveDecoder().decodeBody(ArchiveValue.self, from: Data(bytes))
  }

  @Test func tagNumbersMayBeWrittenLonger() throws {
    #expect(try read("d80100") == .date(Date(timeIntervalSince1970: 0)))
    #expect(try read("da0000000100") == .date(Date(timeIntervalSince1970: 0)))
    #expect(try read("d90020647572693a") == .url(#require(URL(string: "uri:"))))
    #expect(try read("d80482000a") == .decimal(10))
    #expect(try read("8263616263d9001900") == .array(["abc", "abc"]))
    #expect(try read("8243616263da0000001900") == .array([.data(Data("abc".utf8)), .data(Data("abc".utf8))]))
    #expect(try read("da0000dfff8219e00081614e") == .record(ModelRecord(typeName: "N", modelVersion: nil)))
  }

  @Test(.tags(.long), arguments: ["c1", "c2", "c3", "d820", "d825", "c482", "d81b81", "d9dfff82", "d819", "c48200"])
  func tagsInTagsEndWithAnError(hex: String) {
    let times = Effort.rounds(10_000, long: 100_000)
    #expect(throws: ArchiveError.self) { try read(hex, times: times) }
    #expect(throws: ArchiveError.self) { try read(hex, times: times, "00") }
  }

  @Test func anExponentWithoutAMagnitudeEndsWithAnError() {
    #expect(throws: ArchiveError.self) { try read("c4823b7fffffffffffffff00") }
  }

  @Test func keysThatAreNotEqualToThemselvesAreWritten() throws {
    let data = try ArchiveEncoder().encode([Double.nan: 1, 2: 3])
    let again = try ArchiveDecoder().decode([Double: Int].self, from: data)
    #expect(again.count == 2 && again[2] == 3 && again.keys.contains { $0.isNaN })
  }

  @Test func textAndDataOfTheSameBytesStayApart() throws {
    let value = ArchiveValue.array(["same", .data(Data("same".utf8)), "same", .data(Data("same".utf8))])
    #expect(try ArchiveDecoder().decode(ArchiveValue.self, from: ArchiveEncoder().encode(value)) == value)
  }

  /// A writer that has been reset writes the same bytes as a new one.
  @Test func aWriterThatIsResetWritesTheSame() throws {
    let words = (0..<50_000).map { ArchiveValue.string("w\($0 % 30_000)") }
    var writer = ArchiveWriter()
    try writer.write(.array(words))
    let first = writer.buffer.array()
    writer.reset()
    try writer.write(.array(words))
    #expect(writer.buffer.array() == first)
  }
}

private indirect enum Chain: Equatable {
  case end
  case link(Chain)

  init(length: Int) { self = (0..<length).reduce(.end) { chain, _ in .link(chain) } }
}

extension Chain: EnumModel {
  static let schema = ModelSchema(Chain.self, name: "Chain", version: 1, cases: [.init("end"), .init("link")])

  func encodeCase(to writer: inout ArchiveWriter) throws {
    switch self {
    case .end: try writer.beginCase(Self.schema, "end", count: 0)
    case .link(let rest):
      try writer.beginCase(Self.schema, "link", count: 1)
      try writer.payload("_0", rest)
    }
    writer.endCase()
  }

  static func make(case name: String, payload: CasePayload) throws -> Chain? {
    switch name {
    case "end": .end
    case "link": .link(try payload.value("_0"))
    default: nil
    }
  }
}

@Suite struct DepthTests {
  /// A body that is written with a limit must be readable with the same limit.
  @Test(arguments: [7, 8])
  func enumsCountTheSameOnBothSides(length: Int) throws {
    var limits = ArchiveLimits()
    limits.depth = 16
    let chain = Chain(length: length)
    let encoder = ArchiveEncoder(limits: limits)
    guard length == 7 else {
      #expect(throws: ArchiveError.self) { try encoder.encode(chain) }
      return
    }
    #expect(try ArchiveDecoder(limits: limits).decode(Chain.self, from: encoder.encode(chain)) == chain)
  }
}
