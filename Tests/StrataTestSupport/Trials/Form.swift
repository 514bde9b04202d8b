package import Foundation
package import StrataCore

/// A model whose fields cover every kind that is decoded differently.
package struct Form: VersionedModel, Equatable {
  package var id: Int?
  package var byte: UInt8
  package var wide: Int128
  package var ratio: Double
  package var single: Float
  package var price: Decimal
  package var name: String
  package var isOpen: Bool?
  package var url: URL?
  package var body: Data
  package var more: ArchiveValue
  package var login: String?
  package var city: String?
  package var byName: [String: Int]
  package var tags: Set<String>
  package var children: [Form]

  package static let schema = ModelSchema(
    Form.self, name: "Form", version: 1,
    fields: [
      FieldInfo("id", Int?.self), FieldInfo("b", UInt8.self, default: { 0 }),
      FieldInfo("w", Int128.self, default: { 0 }), FieldInfo("r", Double.self, default: { 0 }),
      FieldInfo("f", Float.self, default: { 0 }), FieldInfo("p", Decimal.self, default: { 0 }),
      FieldInfo("n", String.self, default: { "" }), FieldInfo("o", Bool?.self), FieldInfo("u", URL?.self),
      FieldInfo("d", Data.self, default: { Data() }), FieldInfo("m", ArchiveValue.self, default: { .null }),
      FieldInfo("login", String?.self, json: "x.l"), FieldInfo("city", String?.self, json: "x.a.c"),
      FieldInfo("k", [String: Int].self, default: { [:] }), FieldInfo("t", Set<String>.self, default: { [] }),
      FieldInfo("c", [Form].self, default: { [] }),
    ])

  package init(fields reader: inout ArchiveReader) throws {
    id = try reader.field(0)
    byte = try reader.field(1, default: 0)
    wide = try reader.field(2, default: 0)
    ratio = try reader.field(3, default: 0)
    single = try reader.field(4, default: 0)
    price = try reader.field(5, default: 0)
    name = try reader.field(6, default: "")
    isOpen = try reader.field(7)
    url = try reader.field(8)
    body = try reader.field(9, default: Data())
    more = try reader.field(10, default: .null)
    login = try reader.field(11)
    city = try reader.field(12)
    byName = try reader.field(13, default: [:])
    tags = try reader.field(14, default: [])
    children = try reader.field(15, default: [])
  }

  package func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, id)
    try writer.field(1, byte)
    try writer.field(2, wide)
    try writer.field(3, ratio)
    try writer.field(4, single)
    try writer.field(5, price)
    try writer.field(6, name)
    try writer.field(7, isOpen)
    try writer.field(8, url)
    try writer.field(9, body)
    try writer.field(10, more)
    try writer.field(11, login)
    try writer.field(12, city)
    try writer.field(13, byName)
    try writer.field(14, tags)
    try writer.field(15, children)
  }
}
