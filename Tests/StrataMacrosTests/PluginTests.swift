import Testing

@Test func wrongExpectationFails() {
  #expect(
    failures("@Model(version: 1) enum Suit { case heart }", "enum Suit { case heart }").isEmpty == false)
  #expect(failures("let a = 1", "let a = 2").isEmpty == false)
  #expect(failures("let a = 1", "let a = 1").isEmpty)
}
