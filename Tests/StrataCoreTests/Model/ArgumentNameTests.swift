import Foundation
import StrataCore
import Testing

private struct HiddenItem: Codable {}

@Suite("Type argument names of generic models")
struct ArgumentNameTests {
  struct Item: Codable {}
  enum Kind: String, Archivable { case a }
  struct Box<T: Codable>: Codable {}

  @Test("A nested type is named with its enclosing types, but without the module")
  func names() {
    #expect(ModelSchema.argumentName(Int.self) == "Int")
    #expect(ModelSchema.argumentName(Date.self) == "Date")
    #expect(ModelSchema.argumentName([Int].self) == [Int]._archiveTypeName)
    #expect(ModelSchema.argumentName(Item.self) == "ArgumentNameTests.Item")
    #expect(ModelSchema.argumentName(Kind.self) == "ArgumentNameTests.Kind")
    #expect(ModelSchema.argumentName(Box<Item>.self) == "ArgumentNameTests.Box<ArgumentNameTests.Item>")
    #expect(ModelSchema.argumentName(HiddenItem.self) == "HiddenItem")
  }

  @Test("The name of a local type omits the enclosing function")
  func localTypes() {
    struct Local: Codable {}
    #expect(ModelSchema.argumentName(Local.self) == "ArgumentNameTests.Local")
  }
}
