import Foundation
import StrataCore
import Testing

@Suite("Equality of values")
struct EqualityTests {
  private static let scalars: [ArchiveValue] = [
    .null, .bool(false), 0, 1, .uint(.max), .double(0), .double(-0.0), .double(.nan), .double(-.nan),
    .double(.signalingNaN),
    .float(0), .float(.nan), .decimal(0), .decimal(.nan), .date(Date(timeIntervalSinceReferenceDate: .nan)),
    .date(Date(timeIntervalSinceReferenceDate: 0)), "", "a", "\u{E9}", "e\u{301}", .data(Data()), .data(Data([0])),
    .reference(0), .reference(1),
  ]

  /// Values with up to two scalars of a few kinds, in both orders.
  private static let values: [ArchiveValue] = {
    var values = scalars
    let few: [ArchiveValue] = [1, .double(.nan), .double(-.nan), .reference(0), .reference(1)]
    for one in few {
      values += [.array([one]), .set([one]), ["a": one], .array([.array([one])])]
      for other in few {
        values += [
          .array([one, other]), .set([one, other]), ["a": one, "b": other], ["b": other, "a": one],
          .map([.init(key: one, value: other)]), .set([.array([one]), .array([other])]),
          .record(ModelRecord(typeName: "R", modelVersion: 1, fields: [("a", one), ("b", other)])),
          .record(ModelRecord(typeName: "R", modelVersion: 1, fields: [("b", other), ("a", one)])),
        ]
      }
    }
    return values
  }()

  @Test("Each value equals itself, even if it contains NaN")
  func reflexive() {
    for value in Self.values {
      #expect(value == value && value.hashValue == value.hashValue)
      #expect(Set([value, value]).count == 1)
    }
  }

  @Test("Equality is symmetric and transitive, and equal values have equal hashes")
  func equivalence() {
    // For each value, the index of the first value that equals it.
    let classes = Self.values.map { value in Self.values.firstIndex(of: value) ?? -1 }
    for (place, one) in Self.values.enumerated() {
      for (other, two) in Self.values.enumerated() {
        #expect((one == two) == (classes[place] == classes[other]), "\(one) and \(two)")
        if one == two { #expect(one.hashValue == two.hashValue, "\(one) and \(two)") }
      }
    }
    #expect(Set(Self.values).count == Set(classes).count)
  }

  @Test("NaN equals only NaN of the same type")
  func notANumber() {
    #expect(ArchiveValue.double(.nan) == .double(-.nan))
    #expect(ArchiveValue.double(.nan) != .float(.nan) && ArchiveValue.double(.nan) != .double(0))
  }

  @Test("Equal values have equal hashes, even if an array and a set share their storage")
  func sharedStorage() {
    let filler = ArchiveValue.array((0..<300).map { .int($0) }), shared: [ArchiveValue] = [1, 2]
    let one = ArchiveValue.array([filler, .array(shared), .set(shared)])
    let other = ArchiveValue.array([filler, .array([1, 2]), .set([1, 2])])
    #expect(one == other && Set([one, other]).count == 1)
  }

  @Test("Sets with references and shared parts are compared in linear time")
  func nestedSets() {
    func nested(_ levels: Int) -> ArchiveValue {
      (0..<levels).reduce(.set([.reference(0)])) { value, _ in .set([.array([value, value])]) }
    }
    #expect(nested(40) == nested(40) && nested(40) != nested(39))
  }
}
