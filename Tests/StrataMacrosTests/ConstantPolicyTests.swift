import Testing

@testable import StrataMacros

/// A merge sets the properties of an object. If all properties are constants, it replaces the object instead.
@Suite struct ConstantPolicyTests {
  private static let message =
    "a merge fails if it changes the constant 'name' of an object; declare the property with var, or write "
    + "@Field(merge: .keepLocal)"

  @Test("A merge policy for a constant in a class with variables gives a warning")
  func beside() {
    let source = """
      @Model(version: 1) final class Author {
        var id: Int
        @Field(merge: .max) let name: String
      }
      """
    #expect(diagnostics(source).contains { $0.hasSuffix(Self.message) })
  }

  @Test(
    "A merge policy for a constant gives no warning if a merge never sets the constant",
    arguments: [
      "final class Author { let id: Int; @Field(merge: .max) let name: String }",
      "final class Author { var id: Int; @Field(merge: MergePolicy.keepLocal) let name: String }",
      "struct Author { var id: Int; @Field(merge: .max) let name: String }",
      "final class Author { var id: Int; @Field(merge: .byID()) let names: [Name] }",
    ])
  func without(declaration: String) {
    #expect(!diagnostics("@Model(version: 1) \(declaration)").contains { $0.hasSuffix(Self.message) })
  }
}
