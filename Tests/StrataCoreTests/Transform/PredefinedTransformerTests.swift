import Foundation
import StrataCore
import Testing

private enum Light: String, CaseIterable { case red, green }

private enum Kind: Hashable { case known(Int), other(String) }

private func input<T>(_ body: () throws -> T) -> (any Sendable)? {
  do {
    _ = try body()
    return nil
  } catch { return (error as? TransformError)?.input }
}

@Suite("Predefined transformers")
struct PredefinedTransformerTests {
  @Test("P-1, P-12, X-6: the URL transformer is strict unless `percentEncoding` is true")
  func urls() throws {
    let url = ReversibleTransformer.url
    #expect(try url.transform("http://github.com/a?b=c") == URL(string: "http://github.com/a?b=c"))
    #expect(try url.reverse(#require(URL(string: "http://github.com/"))) == "http://github.com/")
    #expect(try url.optional.transform(nil) == nil && url.optional.reverse(nil) == nil)
    for text in ["not a valid URL", "http://exämple.com/ä b", ""] {
      #expect(input { try url.transform(text) } as? String == text)
    }
    #expect(
      try ReversibleTransformer.url(percentEncoding: true).transform("http://example.com/a b").absoluteString
        == "http://example.com/a%20b")
    #expect(throws: TransformError.self) { try ReversibleTransformer.url(percentEncoding: false).transform("a b") }
  }

  @Test("P-2, P-12: the UUID transformer writes upper case")
  func uuids() throws {
    let uuid = ReversibleTransformer.uuid
    let text = "e621e1f8-c36c-495a-93fc-0c247a3e6e5f"
    #expect(try uuid.reverse(uuid.transform(text)) == text.uppercased())
    #expect(input { try uuid.transform("no uuid") } as? String == "no uuid")
  }

  @Test("P-3, P-12: the boolean transformer accepts numbers and rejects strings and null")
  func booleans() throws {
    let boolean = ReversibleTransformer.boolean
    for (value, flag) in [(1, true), (0, false), (-2, true), (0.5, true), (0.0, false), (true, true)]
      as [(ArchiveValue, Bool)]
    {
      #expect(try boolean.transform(value) == flag)
    }
    #expect(try boolean.transform(JSONReader().read(Data("1e400".utf8))), "a number beyond all types")
    #expect(try boolean.reverse(true) == .bool(true))
    #expect(try ReversibleTransformer.boolean(writing: .number).reverse(true) == .int(1))
    for value in [.null, "true", [], .double(.nan)] as [ArchiveValue] {
      #expect(throws: TransformError.self) { try boolean.transform(value) }
    }
    #expect(input { try boolean.transform("true") } as? ArchiveValue == "true")
  }

  @Test("P-5, U-12: a table of values can have aliases and writes one spelling per value")
  func values() throws {
    let light = ReversibleTransformer<String, Light>.values(["go": .green, "walk": .green, "stop": .red])
    #expect(try light.transform("walk") == .green && light.transform("stop") == .red)
    #expect(try light.reverse(.green) == "go")
    #expect(input { try light.transform("blue") } as? String == "blue")
    // Keys can have any hashable type, such as an array.
    let counts = ReversibleTransformer<[String], Int>.values(
      [["zero"]: 0, ["one"]: 1], unknown: .use(-1), unknownReverse: .use(["many"]))
    #expect(try counts.transform(["zero"]) == 0 && counts.transform([]) == -1)
    #expect(try counts.reverse(1) == ["one"] && counts.reverse(9) == ["many"])
    // `nil` is a key like any other.
    let nulls = ReversibleTransformer<String?, Int>.values([nil: 0, "x": 1])
    #expect(try nulls.transform(nil) == 0 && nulls.reverse(0) == nil)
  }

  @Test("U-12: unknown values can keep their raw text")
  func preserving() throws {
    let kind = ReversibleTransformer<String, Kind>.values(
      ["one": .known(1)], unknown: .make { .other($0) },
      unknownReverse: .make { kind in
        guard case .other(let text) = kind else { throw TransformError("no spelling", input: kind) }
        return text
      })
    #expect(try kind.transform("new") == .other("new") && kind.reverse(.other("new")) == "new")
    #expect(throws: TransformError.self) { try kind.reverse(.known(2)) }
  }

  @Test("U-12: the transformer for enum cases supports aliases and a default")
  func cases() throws {
    let light = ReversibleTransformer<String, Light>.cases(aliases: ["rouge": .red], unknown: .use(.green))
    #expect(try light.transform("rouge") == .red && light.transform("blue") == .green)
    #expect(try light.reverse(.red) == "red")
    #expect(throws: TransformError.self) { try ReversibleTransformer.cases(Light.self).transform("blue") }
  }

  @Test("P-5: a table that maps one spelling to two values throws on use")
  func twoMeanings() throws {
    let light = ReversibleTransformer<String, Light>.values(["go": .green, "go": .red])
    #expect(throws: TransformError.self) { try light.transform("go") }
    #expect(throws: TransformError.self) { try light.optional.array.transform(["go"]) }
  }

  @Test("P-6, X-6: dates with a format use the given locale and time zone, by default UTC")
  func dates() throws {
    let zone = try #require(TimeZone(identifier: "America/Los_Angeles"))
    let long = ReversibleTransformer.date(format: "MMMM d, yyyy", locale: Locale(identifier: "en_US"), timeZone: zone)
    #expect(try long.transform("September 25, 2015") == Date(timeIntervalSince1970: 1_443_164_400))
    #expect(try long.reverse(Date(timeIntervalSince1970: 1_183_135_260)) == "June 29, 2007")
    let error = #expect(throws: TransformError.self) { try long.transform("September 37, 2015") }
    #expect(error?.input as? String == "September 37, 2015" && error?.reason.isEmpty == false)
    // The quoted Z is plain text. The dates are still read as UTC, because UTC is the default time zone.
    let readme = ReversibleTransformer.date(format: "yyyy-MM-dd'T'HH:mm:ss'Z'")
    #expect(try readme.transform("2011-01-26T19:01:12Z") == Date(timeIntervalSince1970: 1_296_068_472))
    #expect(try readme.reverse(Date(timeIntervalSince1970: 1_296_068_472)) == "2011-01-26T19:01:12Z")
    #expect(throws: TransformError.self) { try ReversibleTransformer.date(format: "").transform("") }
  }

  @Test("P-6: dates convert from and to ISO 8601, seconds and milliseconds")
  func otherDates() throws {
    let date = Date(timeIntervalSince1970: 1_296_068_472.5)
    #expect(try ReversibleTransformer.iso8601.transform("2011-01-26T20:01:12.5+01:00") == date)
    #expect(try ReversibleTransformer.iso8601.reverse(date) == "2011-01-26T19:01:12.5Z")
    #expect(throws: TransformError.self) { try ReversibleTransformer.iso8601.transform("2011-01-26") }
    #expect(throws: TransformError.self) { try ReversibleTransformer.iso8601.reverse(.distantFuture + 1e12) }
    #expect(try ReversibleTransformer.secondsSince1970.transform(1_296_068_472.5) == date)
    #expect(try ReversibleTransformer.secondsSince1970.reverse(date) == 1_296_068_472.5)
    #expect(throws: TransformError.self) { try ReversibleTransformer.secondsSince1970.transform(.infinity) }
    #expect(try ReversibleTransformer.millisecondsSince1970.transform(1_296_068_472_500) == date)
    #expect(try ReversibleTransformer.millisecondsSince1970.reverse(date) == 1_296_068_472_500)
    #expect(try ReversibleTransformer.wholeSecondsSince1970.transform(1_296_068_472) == date - 0.5)
    for number in [Int64.max, 9_007_199_254_740_993, -9_007_199_254_740_993] {
      #expect(throws: TransformError.self) { try ReversibleTransformer.wholeSecondsSince1970.transform(number) }
    }
    #expect(throws: TransformError.self) { try ReversibleTransformer.millisecondsSince1970.transform(.max) }
    for number in [0, 1, -1, 1_296_068_472_499, 253_402_300_799_999, -62_167_219_200_001] as [Int64] {
      let transformer = ReversibleTransformer.millisecondsSince1970
      #expect(try transformer.reverse(transformer.transform(number)) == number)
    }
  }

  @Test("P-7: numbers convert from and to formatted text")
  func numbers() throws {
    let number = ReversibleTransformer.number()
    #expect(try number.transform("0.12345") == 0.12345)
    #expect(try number.reverse(12345.678) == "12,345.678")
    let error = #expect(throws: TransformError.self) { try number.transform("Apple") }
    #expect(error?.input as? String == "Apple" && error?.reason.isEmpty == false)
  }

  @Test("P-8, E-4: a custom formatter throws if its result has the wrong type")
  func formatters() throws {
    let hex = ReversibleTransformer<String, Int>.formatter(
      parse: { $0 == "half" ? 0.5 : Int($0, radix: 16).map { $0 as Any } },
      format: { $0 < 0 ? nil : String($0, radix: 16) })
    #expect(try hex.transform("ff") == 255 && hex.reverse(255) == "ff")
    #expect(throws: TransformError.self) { try hex.transform("x") }
    let wrong = #expect(throws: TransformError.self) { try hex.transform("half") }
    #expect(wrong?.reason.contains("Double") == true && wrong?.reason.contains("Int") == true)
    #expect(input { try hex.reverse(-1) } as? Int == -1)
  }

  @Test("P-12: errors of predefined transformers have the input, in both directions")
  func inputs() throws {
    let far = Date(timeIntervalSince1970: 1e14)
    #expect(input { try ReversibleTransformer.date(format: "yyyy").transform("x") } as? String == "x")
    #expect(input { try ReversibleTransformer.iso8601.transform("x") } as? String == "x")
    #expect(input { try ReversibleTransformer.iso8601.reverse(far) } as? Date == far)
    #expect(input { try ReversibleTransformer.secondsSince1970.transform(.infinity) } as? Double == .infinity)
    #expect(input { try ReversibleTransformer.number().transform("Apple") } as? String == "Apple")
    let light = ReversibleTransformer<String, Light>.values(["go": .green])
    #expect(input { try light.transform("x") } as? String == "x" && input { try light.reverse(.red) } as? Light == .red)
    #expect(input { try Transformer<any Sendable, String>.validating().transform(3) } as? Int == 3)
    #expect(input { try ReversibleTransformer.uuid.array.transform(["x"]) } as? String == "x")
  }

  @Test("P-9: `validating` accepts only the expected type, and its error names both types")
  func validating() throws {
    let text = Transformer<any Sendable, String>.validating()
    #expect(try text.transform("x") == "x")
    let error = #expect(throws: TransformError.self) { try text.transform(1) }
    #expect(error?.reason.contains("Int") == true && error?.reason.contains("String") == true)
    #expect(throws: TransformError.self) { try Transformer.validating(Int.self).transform(true) }
  }
}

@Suite("Transformer concurrency")
struct TransformerConcurrencyTests {
  @Test("X-1: a hundred tasks can share one transformer")
  func shared() async throws {
    let date = ReversibleTransformer.date(format: "yyyy-MM-dd")
    let number = ReversibleTransformer.number()
    let values = ReversibleTransformer<String, Light>.cases()
    await withTaskGroup(of: Bool.self) { group in
      for task in 0..<100 {
        group.addTask {
          let day = "2020-01-\(task % 28 < 9 ? "0" : "")\(task % 28 + 1)"
          for _ in 0..<20 {
            guard (try? date.reverse(date.transform(day))) == day, (try? values.transform("red")) == .red,
              (try? number.transform(number.reverse(Double(task)))) == Double(task)
            else { return false }
          }
          return true
        }
      }
      for await isRight in group { #expect(isRight) }
    }
  }
}
