import Foundation
import StrataTestSupport

@testable import StrataCore

/// Decodes itself with random calls, which depend on a seed, and logs the result of each call.
struct CodableProbe: Decodable {
  /// Makes the random choices and counts the remaining calls.
  final class Dice: @unchecked Sendable {
    var random: SeededRandom
    var calls = 400
    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    func below(_ bound: Int) -> Int { random.below(bound) }
  }

  @TaskLocal static var dice = Dice(seed: 0)

  private(set) var notes: [String] = []

  init(from decoder: any Decoder) throws {
    let dice = CodableProbe.dice
    note("at \(Self.text(decoder.codingPath))")
    for _ in 0..<2 where dice.calls > 0 {
      dice.calls -= 1
      switch dice.below(5) {
      case 0...1: note("\(CodableOutcome { Self.read(try decoder.container(keyedBy: ScriptKey.self)) })")
      case 2...3: note("\(CodableOutcome { Self.read(try decoder.unkeyedContainer()) })")
      default: note("\(CodableOutcome { Self.read(try decoder.singleValueContainer()) })")
      }
    }
    // Sometimes throws an error itself, so that the call that decodes this type fails.
    if dice.below(12) == 0 { throw CodableScript.Refusal() }
    if dice.below(20) == 0 { _ = try decoder.singleValueContainer().decode(Int.self) }
  }

  private mutating func note(_ text: String) { notes.append(text) }

  private static func text(_ path: [any CodingKey]) -> String {
    path.map { "\($0.stringValue)/\($0.intValue.map(String.init) ?? "-")/\(type(of: $0) == ScriptKey.self)" }
      .joined(separator: " ")
  }

  private static func read(_ container: KeyedDecodingContainer<ScriptKey>) -> [String] {
    let dice = CodableProbe.dice
    var notes = ["keys \(container.allKeys.map(\.stringValue)) at \(Self.text(container.codingPath))"]
    let keys = container.allKeys + ScriptKey.all
    for _ in 0..<8 where dice.calls > 0 {
      dice.calls -= 1
      let key = dice.below(3) == 0 ? ScriptKey.all[dice.below(ScriptKey.all.count)] : keys[dice.below(keys.count)]
      let outcome =
        switch dice.below(11) {
        case 0: CodableOutcome { container.contains(key) }
        case 1: CodableOutcome { try container.decodeNil(forKey: key) }
        case 2:
          CodableOutcome { read(try container.nestedContainer(keyedBy: ScriptKey.self, forKey: key)) }
        case 3: CodableOutcome { read(try container.nestedUnkeyedContainer(forKey: key)) }
        case 4: CodableOutcome { try CodableProbe(from: container.superDecoder(forKey: key)).notes }
        case 5: CodableOutcome { try CodableProbe(from: container.superDecoder()).notes }
        case 6: CodableOutcome { try container.decode(CodableProbe.self, forKey: key).notes }
        case 7: CodableOutcome { try container.decodeIfPresent(CodableProbe.self, forKey: key)?.notes }
        case 8: optional(container, key)
        default: Self.kinds[dice.below(Self.kinds.count)].keyed(container, key)
        }
      notes.append("\(key.stringValue): \(outcome)")
    }
    return notes
  }

  private static func optional(_ container: KeyedDecodingContainer<ScriptKey>, _ key: ScriptKey) -> CodableOutcome {
    switch CodableProbe.dice.below(7) {
    case 0: CodableOutcome { try container.decodeIfPresent(String.self, forKey: key) }
    case 1: CodableOutcome { try container.decodeIfPresent(Int.self, forKey: key) }
    case 2: CodableOutcome { try container.decodeIfPresent(Bool.self, forKey: key) }
    case 3: CodableOutcome { try container.decodeIfPresent(Double.self, forKey: key) }
    case 4: CodableOutcome { try container.decodeIfPresent(Float.self, forKey: key) }
    case 5: CodableOutcome { try container.decodeIfPresent(UInt8.self, forKey: key) }
    default: CodableOutcome { try container.decodeIfPresent([String].self, forKey: key) }
    }
  }

  private static func read(_ source: any UnkeyedDecodingContainer) -> [String] {
    let dice = CodableProbe.dice
    var container = source
    var notes = ["\(container.count ?? -1) elements at \(Self.text(container.codingPath))"]
    for _ in 0..<8 where dice.calls > 0 {
      dice.calls -= 1
      let outcome =
        switch dice.below(9) {
        case 0: CodableOutcome { try container.decodeNil() }
        case 1: CodableOutcome { read(try container.nestedContainer(keyedBy: ScriptKey.self)) }
        case 2: CodableOutcome { read(try container.nestedUnkeyedContainer()) }
        case 3: CodableOutcome { try CodableProbe(from: container.superDecoder()).notes }
        case 4: CodableOutcome { try container.decode(CodableProbe.self).notes }
        case 5: CodableOutcome { try container.decodeIfPresent(Int.self) }
        default: Self.kinds[dice.below(Self.kinds.count)].unkeyed(&container)
        }
      notes.append("\(container.currentIndex) \(container.isAtEnd): \(outcome)")
    }
    return notes
  }

  private static func read(_ container: any SingleValueDecodingContainer) -> [String] {
    let dice = CodableProbe.dice
    var notes = ["\(container.decodeNil()) at \(Self.text(container.codingPath))"]
    for _ in 0..<4 { notes.append("\(Self.kinds[dice.below(Self.kinds.count)].single(container))") }
    return notes
  }

  /// The ways to decode a type from each kind of container.
  private struct Kind: Sendable {
    let keyed: @Sendable (KeyedDecodingContainer<ScriptKey>, ScriptKey) -> CodableOutcome
    let unkeyed: @Sendable (inout any UnkeyedDecodingContainer) -> CodableOutcome
    let single: @Sendable (any SingleValueDecodingContainer) -> CodableOutcome

    init<T: Decodable & SendableMetatype>(_ type: T.Type) {
      keyed = { container, key in CodableOutcome({ try container.decode(T.self, forKey: key) }, describing: Self.text) }
      unkeyed = { container in CodableOutcome({ try container.decode(T.self) }, describing: Self.text) }
      single = { container in CodableOutcome({ try container.decode(T.self) }, describing: Self.text) }
    }

    /// The value as text, independent of hash order.
    private static func text<T>(_ value: T) -> String {
      if let value = value as? any Encodable, let plain = try? ValueWay.value(of: value) { return "\(plain)" }
      return "\(value)"
    }
  }

  private static let kinds: [Kind] = [
    Kind(Bool.self), Kind(String.self), Kind(Double.self), Kind(Float.self), Kind(Int.self), Kind(Int8.self),
    Kind(Int16.self), Kind(Int32.self), Kind(Int64.self), Kind(UInt.self), Kind(UInt8.self), Kind(UInt16.self),
    Kind(UInt32.self), Kind(UInt64.self), Kind(Int128.self), Kind(UInt128.self), Kind(Date.self), Kind(URL.self),
    Kind(UUID.self), Kind(Data.self), Kind(Decimal.self), Kind([Int].self), Kind([String].self), Kind([String?].self),
    Kind(Int?.self), Kind(Int??.self), Kind(Set<String>.self), Kind([String: Int].self), Kind([Int: String].self),
    Kind([[Double]].self), Kind(ScriptValue.Place.self), Kind(ScriptValue.Untyped.self), Kind(Size.self),
    Kind([Size].self), Kind([Size?].self), Kind([String: Size].self), Kind([Int: Size].self),
    Kind(Set<ScriptValue.Name>.self), Kind([ScriptValue.Name: Size].self), Kind(ScriptValue.Mood.self),
    Kind(ScriptValue.Shape.self), Kind([URL].self), Kind([Date?].self),
  ]
}
