import Foundation
import StrataCore
import Testing

@Suite("Differences: NaN equals itself")
struct DifferenceNaNTests {
  private static let nan = ArchiveValue.double(.nan)
  private static let nanDate = ArchiveValue.date(Date(timeIntervalSinceReferenceDate: .nan))

  /// Returns the value alone and inside each kind of container.
  private static func wrapped(_ value: ArchiveValue) -> [ArchiveValue] {
    [
      value, [1, value], [value, value], ["a": value], [["id": 1, "a": value]], [["id": value, "a": 1]],
      .set([1, value]), .map([.init(key: 1, value: value)]), .map([.init(key: value, value: 1)]),
      .record(ModelRecord(typeName: "R", modelVersion: 1, fields: [("a", value)])),
      .graph(ObjectGraph(objects: [["a": value]], root: .reference(0))),
    ]
  }

  @Test("A value that contains NaN does not differ from itself at any depth")
  func same() throws {
    for nan in [
      Self.nan, .float(.nan), .decimal(.nan), .double(-.nan), .double(Double(nan: 7, signaling: false)), Self.nanDate,
    ] {
      for (one, other) in zip(Self.wrapped(nan), Self.wrapped(nan)) {
        for (old, new) in zip(Self.wrapped(one), Self.wrapped(other)) {
          #expect(ValueDifference(from: old, to: new).isEmpty)
          #expect(JSONPatch(from: old, to: new).operations.isEmpty)
        }
      }
    }
    #expect(JSONMergePatch.patch(from: ["a": [Self.nan]], to: ["a": [Self.nan]]) == [:])
  }

  @Test("A path that identifies an element by NaN equals itself")
  func paths() {
    for nan in [Self.nan, .float(.nan), .decimal(.nan), Self.nanDate] {
      let paths = [ValuePath([.key("a"), .element(key: "id", id: nan)]), ValuePath([.value(nan)])]
      #expect(paths == paths && Set(paths + paths).count == 2)
    }
  }

  @Test("A double NaN differs from a float NaN and from 0")
  func kinds() {
    for (one, other) in zip(Self.wrapped(Self.nan), Self.wrapped(.float(.nan))) {
      #expect(!ValueDifference(from: one, to: other).isEmpty)
    }
    for (one, other) in zip(Self.wrapped(Self.nan), Self.wrapped(0)) {
      #expect(!ValueDifference(from: one, to: other).isEmpty && !ValueDifference(from: other, to: one).isEmpty)
    }
  }

  @Test("A difference applies to its own source, with or without NaN")
  func applied() throws {
    let plain: [ArchiveValue] = [1, [1, 2, 3], ["b": 2]]
    for (old, sameOld) in zip(Self.wrapped(Self.nan), Self.wrapped(Self.nan)) {
      for new in plain + Self.wrapped(0) + Self.wrapped(.float(.nan)) + Self.wrapped(Self.nan) {
        for (from, again, to) in [(old, sameOld, new), (["x": [old]], ["x": [sameOld]], ["x": [new, new]])] {
          let difference = ValueDifference(from: from, to: to)
          let result = try difference.applied(to: again)
          #expect(ValueDifference(from: result, to: to).isEmpty, "\(from) to \(to)")
          let back = try ValueDifference(from: to, to: from).applied(to: to)
          #expect(ValueDifference(from: back, to: from).isEmpty, "\(to) to \(from)")
        }
      }
    }
  }

  @Test("Adding or removing NaN in an array, a set, a map or an object is one change")
  func members() throws {
    let pairs: [(ArchiveValue, ArchiveValue)] = [
      ([1, Self.nan, 2], [1, 2]), ([Self.nan, 1, Self.nan], [Self.nan, Self.nan]), (.set([1, Self.nan]), .set([1])),
      (.map([.init(key: 1, value: 1), .init(key: Self.nan, value: 2)]), .map([.init(key: 1, value: 1)])),
      (["a": Self.nan, "b": 1], ["b": 1]),
    ]
    for (one, other) in pairs {
      for (old, new) in [(one, other), (other, one)] {
        let difference = ValueDifference(from: old, to: new)
        #expect(difference.changes.count == 1, "\(old) to \(new)")
        #expect(ValueDifference(from: try difference.applied(to: old), to: new).isEmpty, "\(old) to \(new)")
      }
    }
  }
}
