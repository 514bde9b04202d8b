import Foundation
import StrataCore
import Testing

private struct HiddenItem: Codable {}

@Suite("Names of types in the names of generic models")
struct ArgumentNameTests {
  struct Item: Codable {}
  enum Kind: String, Archivable { case a }
  struct Box<T: Codable>: Codable {}

  @Test("A type has its own name after those of the types around it, without the module")
  func names() {
    #expect(ModelSchema.argumentName(Int.self) == "Int")
    #expect(ModelSchema.argumentName(Date.self) == "Date")
    #expect(ModelSchema.argumentName([Int].self) == [Int]._archiveTypeName)
    #expect(ModelSchema.argumentName(Item.self) == "ArgumentNameTests.Item")
    #expect(ModelSchema.argumentName(Kind.self) == "ArgumentNameTests.Kind")
    #expect(ModelSchema.argumentName(Box<Item>.self) == "ArgumentNameTests.Box<ArgumentNameTests.Item>")
    #expect(ModelSchema.argumentName(HiddenItem.self) == "HiddenItem")
  }

  @Test("A function around a type is no part of its name")
  func localTypes() {
    struct Local: Codable {}
    #expect(ModelSchema.argumentName(Local.self) == "ArgumentNameTests.Local")
  }
}
