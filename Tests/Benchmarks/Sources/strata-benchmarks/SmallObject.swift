import Foundation
import StrataCore
import StrataLegacy

/// The `Small` model as a class, whose instances have object identity.
final class SmallObject: VersionedModel, Equatable {
  let id: Int
  let name: String
  let score: Double
  let isFlagged: Bool
  let createdAt: Date

  init(_ model: Small) {
    (id, name, score, isFlagged, createdAt) = (model.id, model.name, model.score, model.isFlagged, model.createdAt)
  }

  static let schema = ModelSchema(
    SmallObject.self, name: "SmallObject", version: 1,
    fields: [
      FieldInfo("id", Int.self, isConstant: true), FieldInfo("name", String.self, isConstant: true),
      FieldInfo("score", Double.self, isConstant: true), FieldInfo("isFlagged", Bool.self, isConstant: true),
      FieldInfo("createdAt", Date.self, isConstant: true),
    ])

  init(fields reader: inout ArchiveReader) throws {
    id = try reader.field(0)
    name = try reader.field(1)
    score = try reader.field(2)
    isFlagged = try reader.field(3)
    createdAt = try reader.field(4)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, id)
    try writer.field(1, name)
    try writer.field(2, score)
    try writer.field(3, isFlagged)
    try writer.field(4, createdAt)
  }

  func readField(_ place: Int, from reader: inout ArchiveReader) throws { throw reader.constantInCycle(place) }

  var value: Small { Small(id: id, name: name, score: score, isFlagged: isFlagged, createdAt: createdAt) }

  static func == (one: SmallObject, other: SmallObject) -> Bool { one.value == other.value }
}

extension SmallObject: LegacyModel { static var legacyNames: [String] { ["strata_benchmarks.KeyedSmall"] } }
