import Foundation
import Strata
import StrataTestSupport
import Testing

private struct Halves: DescribedModel, Equatable {
  var left: Int?
  var right: Int?
  static let fields = Fields(
    Halves.self, version: 1, Field("left", \.left, archive: .excluded), Field("right", \.right),
    make: { Halves(left: $0, right: $1) })
}

private struct CodableHalves: DescribedModel, Equatable {
  var left: Size?
  var right: Size?
  static let fields = Fields(
    CodableHalves.self, version: 1, Field("left", \.left, archive: .excluded), Field("right", \.right),
    make: { CodableHalves(left: $0, right: $1) })
}

private struct Size: Codable, Equatable { var width: Int }

private struct Required: DescribedModel {
  var id: Int
  static let fields = Fields(
    Required.self, version: 1, Field("id", \.id, archive: .excluded), make: { Required(id: $0) })
}

@Suite("Fields that archives exclude")
struct ExcludedFieldTests {
  @Test("A described optional without a default is nil after reading, and the next field keeps its value")
  func optional() throws {
    #expect(try archived(Halves(left: 1, right: 2)) == Halves(left: nil, right: 2))
    #expect(
      try archived(CodableHalves(left: Size(width: 1), right: Size(width: 2)))
        == CodableHalves(left: nil, right: Size(width: 2)))
    #expect(try Halves(left: 1, right: 2).copy(updating: ["right": 3]) == Halves(left: 1, right: 3))
  }

  @Test("A required one without a default cannot be read, so its schema is refused")
  func required() {
    let error = #expect(throws: ArchiveError.self) { try Required.schema.check() }
    #expect(error?.code == .invalidSchema && "\(error ?? ArchiveError(.damaged, ""))".contains("default"))
  }
}
