import Foundation
import StrataCore
import Testing

@Suite("JSON patches: numbers are compared exactly")
struct JSONPatchNumberTests {
  /// Spellings of numbers in ascending order. The spellings in a row are equal (RFC 6902, section 4.6).
  private static let ladder: [[String]] = [
    ["-1e99999999999999999999999999", "-10e99999999999999999999999998"],
    ["-1e400", "-10e399", "-0.1E+401"],
    ["-340282366920938463463374607431768211457"], ["-340282366920938463463374607431768211456"],
    ["-9007199254740993", "-9007199254740993.0"], ["-9007199254740992", "-9007199254740992.0"],
    ["-1.5", "-15e-1"], ["-1e-999999999"],
    ["0", "-0", "0.0", "-0.0", "0e999999999", "0e-99999999999999999999999", "0.000"],
    ["1e-99999999999999999999999999", "0.01e-99999999999999999999999997"], ["1e-999999999"], ["1e-400", "0.1e-399"],
    ["5e-324"], ["0.1", "0.10", "1e-1"], ["0.1000000000000000055511151231257827"],
    ["1", "1.0", "1e0", "10e-1", "0.1e1", "1.000000000000000000000000000000000000000000000"],
    ["1.000000000000000000000000000000000000000000001"], ["1.5", "15e-1", "1.50"],
    ["9007199254740991"], ["9007199254740992", "9007199254740992.0", "9.007199254740992e15"],
    ["9007199254740993", "9007199254740993.0"], ["18446744073709551615"],
    ["18446744073709551616", "184467440737095516.16e2"],
    ["99999999999999999999999"], ["1e23", "100000000000000000000000", "100000000000000000000000.0"],
    ["170141183460469231731687303715884105728"], ["340282366920938463463374607431768211456"],
    ["1e400", "10e399", "0.1e401"], ["1e999999999", "1000e999999996"],
    ["1e9223372036854775807", "10e9223372036854775806"], ["1e9223372036854775808", "0.01e9223372036854775810"],
    ["1e99999999999999999999999998"], ["1e99999999999999999999999999", "0.1e100000000000000000000000000"],
    ["2e99999999999999999999999999"],
    [
      "1e9999999999999999999999999999999999999", "0.1e10000000000000000000000000000000000000",
      "1e+000000000000000000009999999999999999999999999999999999999",
    ],
  ]

  private static func number(_ text: String) throws -> ArchiveValue { try JSONReader().read(Data(text.utf8)) }

  private func passes(_ operand: ArchiveValue, _ value: ArchiveValue) throws -> Bool {
    do {
      _ = try JSONPatch([.test(ValuePath(key: "a"), operand)]).applied(to: ["a": value])
      return true
    } catch let error as ArchiveError where error.code == .mergeFailed { return false }
  }

  @Test("A test operation accepts equal numbers in any spelling, and no others")
  func equality() throws {
    for (rank, line) in Self.ladder.enumerated() {
      for (other, spellings) in Self.ladder.enumerated() where abs(rank - other) <= 3 {
        for one in line {
          for two in spellings {
            #expect(try passes(Self.number(one), Self.number(two)) == (rank == other), "\(one) and \(two)")
          }
        }
      }
    }
  }

  @Test("The policies max and min compare all digits of a number")
  func order() throws {
    func merged(_ policy: MergePolicy, _ local: ArchiveValue, _ server: ArchiveValue) throws -> ArchiveValue? {
      try Merger(options: MergeOptions(policy: policy)).merge(["a": server], into: ["a": local]).value["a"]
    }
    for (rank, line) in Self.ladder.enumerated() {
      for (other, spellings) in Self.ladder.enumerated() where rank < other && other - rank <= 3 {
        for one in line {
          for two in spellings {
            let (small, great) = (try Self.number(one), try Self.number(two))
            #expect(try merged(.max, small, great) == great && merged(.max, great, small) == great, "\(one) and \(two)")
            #expect(try merged(.min, small, great) == small && merged(.min, great, small) == small, "\(one) and \(two)")
          }
        }
      }
    }
  }

  @Test("Numbers with exponents of more than 37 digits equal only identical text, and max and min conflict")
  func longestExponents() throws {
    let zeros = String(repeating: "0", count: 39)
    for (one, two) in [("1e1\(zeros)", "10e1\(zeros)"), ("1e-1\(zeros)", "2e-1\(zeros)"), ("1e1\(zeros)", "1")] {
      let (left, right) = (try Self.number(one), try Self.number(two))
      #expect(try passes(left, left) && !passes(left, right) && !passes(right, left))
      for policy in [MergePolicy.max, .min] {
        let result = try Merger(options: MergeOptions(policy: policy)).merge(["a": right], into: ["a": left])
        #expect(result.report.conflicts.count == 1)
      }
    }
    #expect(try passes(Self.number("0e1\(zeros)"), 0))
  }

  @Test("Numbers of different types are compared by their JSON values")
  func kinds() throws {
    let tenth = try #require(Decimal(string: "0.1"))
    let one: [ArchiveValue] = [
      1, 1.0, .float(1), .decimal(1), .integer(1), .number(try #require(NumberText("1.000e0"))),
    ]
    let part: [ArchiveValue] = [0.1, .float(0.1), .decimal(tenth), .number(try #require(NumberText("100e-3")))]
    for group in [one, part] {
      for left in group { for right in group { #expect(try passes(left, right), "\(left) and \(right)") } }
    }
    for left in one { for right in part { #expect(try !passes(left, right), "\(left) and \(right)") } }
    #expect(try passes(.double(.nan), .float(.nan)) && !passes(.double(.nan), 0))
    #expect(try !passes(.double(.infinity), Self.number("1e400")) && passes(.double(.infinity), .float(.infinity)))
    #expect(try !passes(.double(.infinity), .double(-.infinity)))
    #expect(try !passes(true, 1) && !passes("1", 1) && !passes(.null, 0))
  }

  @Test("Test operations compare arrays, objects and records regardless of key order")
  func nested() throws {
    let record = ArchiveValue.record(ModelRecord(typeName: "T", modelVersion: 1, fields: [("a", 1), ("b", [2.0])]))
    let other = ArchiveValue.record(ModelRecord(typeName: "T", modelVersion: 1, fields: [("b", [2]), ("a", 1.0)]))
    #expect(try passes(record, other))
    #expect(try passes([["a": 1, "b": [1e3]]], [["b": [1000], "a": 1.0]]))
    #expect(try !passes([["a": 1, "b": [1e3]]], [["b": [1000], "c": 1.0]]))
    #expect(try !passes([9_007_199_254_740_993], [9_007_199_254_740_992.0]))
  }
}
