import Foundation
import StrataCore
import Testing

private struct OwnError: Error, Equatable { let code: Int }

private func failure<T>(_ body: () throws -> T) throws -> TransformError {
  do {
    _ = try body()
  } catch {
    return try #require(error as? TransformError)
  }
  throw TransformError("nothing was thrown", input: 0)
}

@Suite("Transformers")
struct TransformerTests {
  let bar = ReversibleTransformer<String, String>(
    { $0 + "bar" },
    reverse: { text in
      guard text.hasSuffix("bar") else { throw OwnError(code: 7) }
      return String(text.dropLast(3))
    })
  let even = ReversibleTransformer<Int, String>(
    { number in
      guard number.isMultiple(of: 2) else { throw OwnError(code: number) }
      return String(number)
    },
    reverse: { text in
      guard let number = Int(text) else { throw TransformError("no digits", input: text) }
      return number
    })

  @Test("T-1: a one-way transformer has its own type without a reverse function")
  func oneWay() throws {
    let transformer = Transformer<String, Int> { $0.utf8.count }
    #expect(try transformer.transform("four") == 4)
    #expect(try bar.then(transformer).transform("foo") == 6)
  }

  @Test("T-2: a reversible transformer can use one function in both directions")
  func both() throws {
    let transformer = ReversibleTransformer<String, String>(both: { $0 + "bar" })
    #expect(try transformer.transform("foo") == "foobar" && transformer.reverse("foo") == "foobar")
  }

  @Test("T-3: a reversible transformer can use a different function in each direction")
  func two() throws {
    #expect(try bar.transform("foo") == "foobar" && bar.reverse("foobar") == "foo")
  }

  @Test("T-4, T-5: nil is a valid output, and only throwing means failure")
  func nilIsSuccess() throws {
    let transformer = Transformer<String, Int?> { Int($0) }
    #expect(try transformer.transform("x") == nil && transformer.transform("3") == 3)
  }

  @Test("T-6: inverting swaps the directions, inverting twice restores them, and errors pass through")
  func inversion() throws {
    #expect(try bar.inverted.transform("foobar") == "foo" && bar.inverted.reverse("foo") == "foobar")
    #expect(try bar.inverted.inverted.transform("foo") == "foobar")
    let error = try failure { try bar.inverted.transform("x") }
    #expect(error.input as? String == "x" && error.underlyingError as? OwnError == OwnError(code: 7))
  }

  @Test("E-3, P-12: an error has the input as a property, but not in its description")
  func inputs() throws {
    let error = try failure { try even.transform(12345) }
    #expect(error.input as? Int == 12345)
    #expect(error.underlyingError as? OwnError == OwnError(code: 12345))
    #expect(!error.description.contains("12345"))
    #expect(try failure { try even.reverse("x") }.reason == "no digits")
  }

  @Test("T-7: a chain applies its transformers in order, and in reverse order when reversed")
  func chains() throws {
    let chain = even.then(bar)
    #expect(try chain.transform(4) == "4bar" && chain.reverse("4bar") == 4)
    #expect(try failure { try chain.transform(3) }.input as? Int == 3)
    #expect(try failure { try chain.reverse("xbar") }.input as? String == "x")
  }

  @Test("P-4: arrays are mapped element by element, and only `arrayDroppingNulls` drops elements")
  func arrays() throws {
    #expect(try even.array.transform([2, 4]) == ["2", "4"] && even.array.reverse(["2", "4"]) == [2, 4])
    #expect(try even.optional.array.transform([2, nil, 4]) == ["2", nil, "4"])
    #expect(try even.arrayDroppingNulls.transform([2, nil, 4]) == ["2", "4"])
    #expect(try even.arrayDroppingNulls.reverse(["2"]) == [2])
    #expect(try even.optional.transform(nil) == nil && even.optional.reverse(nil) == nil)
  }

  @Test("E-8: an error of an element has its index in the path and keeps the underlying error")
  func indices() throws {
    let error = try failure { try even.array.transform([2, 3, 4]) }
    #expect(error.path == [.index(1)] && error.input as? Int == 3)
    #expect(error.underlyingError as? OwnError == OwnError(code: 3))
    #expect(try failure { try even.array.array.transform([[2], [2, 5]]) }.path == [.index(1), .index(1)])
    #expect(try failure { try even.optional.array.reverse(["2", nil, "x"]) }.path == [.index(2)])
  }

  @Test("U-21: transformers can be applied to sets, dictionaries and arrays of arrays")
  func containers() throws {
    #expect(try even.set.transform([2, 4]) == ["2", "4"] && even.set.reverse(["2"]) == [2])
    #expect(try even.dictionaryValues.transform(["a": 2]) == ["a": "2"])
    #expect(try even.dictionaryValues.reverse(["a": "2"]) == ["a": 2])
    #expect(try failure { try even.dictionaryValues.transform(["b": 3, "a": 5]) }.path == [.key("a")])
    #expect(try even.array.array.transform([[2], []]) == [["2"], []])
  }
}
