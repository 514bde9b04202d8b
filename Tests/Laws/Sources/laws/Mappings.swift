import Foundation
import Strata

// Checks of document clusters, and of valid and invalid mappings.

@Model(version: 1)
struct Disc: Hashable { var radius = 0, note: String? }

@Model(version: 1)
struct Square: Hashable { var side = 0, part = Part() }

/// A model whose fields are mapped to paths.
@Model(version: 1)
struct Mapped: Hashable { var a = 0, b = 0, c = 0 }

enum Shown: Hashable {
  case disc(Disc), square(Square)
}

extension DeclaredLaws {
  mutating func clusters() {
    trial(.cluster, "Shown") { try $0.clusters(Self.variants()) }
  }

  private static func variants() throws -> [JSONVariant<Shown>] {
    [
      try .model("disc", JSONAdapter<Disc>()) {
        .disc($0)
      } unwrap: {
        if case .disc(let disc) = $0 { disc } else { nil }
      },
      try .model("square", JSONAdapter<Square>()) {
        .square($0)
      } unwrap: {
        if case .square(let square) = $0 { square } else { nil }
      },
    ]
  }

  private mutating func clusters(_ variants: [JSONVariant<Shown>]) throws {
    var source = Source(random: random.fork(), isAny: false)
    let values: [Shown] = source.elements { source in
      source.below(2) == 0
        ? .disc(Disc(radius: source.below(9), note: .sample(&source)))
        : .square(Square(side: source.below(9), part: .sample(&source)))
    }
    do {
      let inner = try JSONCluster<Shown>(by: .key("kind"), variants[1])
      let ways: [(String, JSONCluster<Shown>)] = [
        ("key", try JSONCluster(by: .key("type"), variants[0], variants[1])),
        ("path", try JSONCluster(by: .key("meta.type"), variants[1], variants[0])),
        ("sibling", try JSONCluster(by: .sibling("type", content: "value"), variants[0], variants[1])),
        ("nested", try JSONCluster(by: .key("type"), variants[0], .cluster("other", inner))),
      ]
      for (way, cluster) in ways {
        let data = try cluster.encodeArray(values)
        let found = try cluster.decodeArray(data)
        add(
          .cluster, "Shown", found == values ? nil : "\(way): \(String(decoding: data, as: UTF8.self)) became \(found)")
        let trees = JSONTree(parsing: String(decoding: data, as: UTF8.self))
        guard case .array(let trees)? = trees else { continue }
        for (tree, value) in zip(trees, values) {
          let (tag, content): (String, JSONTree) =
            switch value {
            case .disc(let disc):
              (
                "disc",
                .object([
                  .init(key: "radius", value: .number("\(disc.radius)")),
                  .init(key: "note", value: disc.note.map { .text($0) } ?? .null),
                ])
              )
            case .square(let square):
              (
                "square",
                .object([
                  .init(key: "side", value: .number("\(square.side)")),
                  .init(key: "part", value: square.part.plain.jsonTree ?? .null),
                ])
              )
            }
          guard case .object(let members) = content else { continue }
          let wanted: [JSONTree.Member] =
            switch way {
            case "key": [.init(key: "type", value: .text(tag))] + members
            case "path": [.init(key: "meta", value: .object([.init(key: "type", value: .text(tag))]))] + members
            case "sibling": [.init(key: "type", value: .text(tag)), .init(key: "value", value: content)]
            default:
              (tag == "disc"
                ? [.init(key: "type", value: .text(tag))]
                : [.init(key: "type", value: .text("other")), .init(key: "kind", value: .text(tag))]) + members
            }
          let same = tree.unordered == JSONTree.object(wanted).unordered
          add(.cluster, "Shown", same ? nil : "\(way): \(tree.text), expected \(JSONTree.object(wanted).text)")
        }
      }
      try unknownTags(values, variants)
    } catch { add(.cluster, "Shown", "\(error)") }
    // Clusters that could not read or write any document are rejected.
    let wrong: [(String, () throws -> JSONCluster<Shown>)] = [
      ("no variants", { try JSONCluster(by: .key("type")) }),
      ("a tag twice", { try JSONCluster(by: .key("type"), variants[0], variants[0]) }),
      ("a fallback that is none", { try JSONCluster(by: .key("type"), unknown: .fallback("x"), variants[0]) }),
      ("one key for tag and content", { try JSONCluster(by: .sibling("type", content: "type"), variants[0]) }),
      ("a path to several", { try JSONCluster(by: .key("types[*]"), variants[0]) }),
    ]
    for (what, make) in wrong {
      do {
        _ = try make()
        add(.cluster, "Shown", "\(what) was taken")
      } catch { add(.cluster, "Shown", (error as? ArchiveError)?.code == .invalidMapping ? nil : "\(what): \(error)") }
    }
  }

  private mutating func unknownTags(_ values: [Shown], _ variants: [JSONVariant<Shown>]) throws {
    let plain = try JSONCluster(by: .key("type"), variants[0], variants[1])
    guard case .array(var elements) = try JSONReader().read(plain.encodeArray(values)) else { return }
    let place = random.below(elements.count + 1)
    elements.insert(
      .object(ArchiveObject([.init(key: "type", value: "oval"), .init(key: "radius", value: 7)])), at: place)
    let json = ArchiveValue.array(elements)
    do {
      _ = try plain.decodeArray(json)
      add(.cluster, "Shown", "an unknown tag was taken")
    } catch let error as ArchiveError {
      let isRight = error.code == .unknownCase && error.codingPath.first == .index(place)
      add(.cluster, "Shown", isRight ? nil : "\(error) for element \(place)")
    }
    let skipped = try JSONCluster(by: .key("type"), unknown: .skip, variants[0], variants[1]).decodeArray(json)
    add(.cluster, "Shown", skipped == values ? nil : "skipping gave \(skipped)")
    var expected = values
    expected.insert(.disc(Disc(radius: 7)), at: place)
    let fallen = try JSONCluster(by: .key("type"), unknown: .fallback("disc"), variants[0], variants[1]).decodeArray(
      json)
    add(.cluster, "Shown", fallen == expected ? nil : "the fallback gave \(fallen)")
    var failures: [ArchiveError] = []
    let found = try plain.decodeArray(json, onInvalid: { failures.append($0) })
    let isRight = found == values && failures.count == 1
    add(.cluster, "Shown", isRight ? nil : "\(failures) of \(found)")
  }

  // MARK: Mappings

  /// Maps three fields to random paths. A mapping is rejected if two fields share a path, if a path is inside another, or if an
  /// array has a gap. Otherwise the document has each value at its path.
  mutating func mappings() {
    let pool = ["x", "y", "x.y", "x.z", "l[0]", "l[1]", "l[2]", "l[0].k", "l[1].k", "y.l[0]", "x.y.z"]
    let paths = ["a", "b", "c"].map { ($0, random.oneOf(pool)) }
    let steps = paths.map { Self.steps($0.1) }
    func isPrefix(_ one: [String], of other: [String]) -> Bool { other.starts(with: one) }
    var isWrong = false
    for (place, one) in steps.enumerated() {
      for (number, other) in steps.enumerated() where number != place && isPrefix(one, of: other) { isWrong = true }
      // A place cannot be an array for one field and an object for another.
      for other in steps {
        let common = zip(one, other).prefix { $0 == $1 }.count
        guard common < one.count, common < other.count else { continue }
        if one[common].hasPrefix("[") != other[common].hasPrefix("[") { isWrong = true }
      }
      // An element of an array needs all the elements before it.
      for (depth, step) in one.enumerated() where step.hasPrefix("[") {
        let number = Int(step.dropFirst()) ?? 0
        for before in 0..<number
        where !steps.contains(where: { $0.starts(with: Array(one[..<depth]) + ["[\(before)"]) }) {
          isWrong = true
        }
      }
    }
    let value = Mapped(a: random.below(9), b: random.below(9), c: random.below(9))
    let shown = "\(paths.map { "\($0): \($1)" })"
    do {
      let adapter = try JSONAdapter(
        JSONMapping<Mapped>(Dictionary(uniqueKeysWithValues: paths.map { ($0.0, JSONField(stringLiteral: $0.1)) })))
      guard !isWrong else { return add(.mapping, "Mapped", "\(shown) was taken") }
      let data = try adapter.encode(value)
      let tree = JSONTree(parsing: String(decoding: data, as: UTF8.self))
      for (wanted, steps) in zip([value.a, value.b, value.c], steps) {
        let found = steps.reduce(tree) { tree, step in
          guard step.hasPrefix("["), let number = Int(step.dropFirst()) else { return tree?.member(step) }
          if case .array(let elements)? = tree, elements.indices.contains(number) { return elements[number] }
          return nil
        }
        add(
          .mapping, "Mapped", found == .number("\(wanted)") ? nil : "\(shown): \(tree?.text ?? "no JSON") for \(value)")
      }
      add(.mapping, "Mapped", try adapter.decode(data) == value ? nil : "\(shown) of \(value)")
      let extra = try JSONAdapter(
        JSONMapping<Mapped>(Dictionary(uniqueKeysWithValues: paths.map { ($0.0, JSONField(stringLiteral: $0.1)) })),
        unknownKeys: .refuse)
      add(.mapping, "Mapped", try extra.decode(data) == value ? nil : "\(shown): own keys are unknown")
    } catch let error as ArchiveError {
      add(.mapping, "Mapped", isWrong && error.code == .invalidMapping ? nil : "\(shown): \(error)")
    } catch { add(.mapping, "Mapped", "\(shown): \(error)") }
    tags()
  }

  private static func steps(_ path: String) -> [String] {
    path.split(separator: ".").flatMap { part -> [String] in
      let pieces = part.split(separator: "[")
      return [String(pieces[0])] + pieces.dropFirst().map { "[\($0.dropLast())" }
    }
  }

  /// Each case is written with its tag and read back. Ambiguous tags are rejected.
  private mutating func tags() {
    func check<T: SignalType>(_ type: T.Type, _ tags: [String]?, _ text: (String) -> String) {
      let number = random.below(9)
      for (place, value) in [T.go(speed: number), .wait].enumerated() {
        do {
          let data = try T.jsonData(value)
          guard let tags else {
            add(.mapping, "Signal", "\(T.self) was taken")
            continue
          }
          let found = JSONTree(parsing: String(decoding: data, as: UTF8.self))?.text ?? ""
          // A case without associated values has only its tag.
          let wanted = text(tags[place]).replacing(
            place == 0 ? "{}" : #","v":{}"#, with: place == 0 ? #"{"speed":\#(number)}"# : "")
          add(.mapping, "Signal", found == wanted ? nil : "\(T.self): \(found), expected \(wanted)")
          add(.mapping, "Signal", try T(fromJSON: data) == value ? nil : "\(T.self): \(found) is not \(value)")
        } catch {
          let isRefused = tags == nil && (error as? ArchiveError)?.code == .invalidMapping
          add(.mapping, "Signal", isRefused ? nil : "\(T.self): \(error)")
        }
      }
    }
    check(Signal0.self, ["go", "wait"]) { #"{"\#($0)":{}}"# }
    check(Signal1.self, ["g", "wait"]) { #"{"\#($0)":{}}"# }
    check(Signal2.self, ["wait", "go"]) { #"{"t":"\#($0)","v":{}}"# }
    check(Signal3.self, ["g", "w"]) { #"{"t":"\#($0)","v":{}}"# }
    check(Signal4.self, nil) { $0 }
    check(Signal5.self, nil) { $0 }
    check(Signal6.self, nil) { $0 }
  }
}

/// An enum with valid or invalid tags.
protocol SignalType: VersionedModel, Equatable, JSONTagged {
  static func go(speed: Int) -> Self
  static var wait: Self { get }
}

extension SignalType {
  static func jsonData(_ value: Self) throws -> Data { try value.jsonData() }
}

@Model(version: 1)
enum Signal0: Equatable, SignalType {
  case go(speed: Int)
  case wait
  static var jsonTagging: JSONTagging { .external }
}

@Model(version: 1)
enum Signal1: Equatable, SignalType {
  case go(speed: Int)
  case wait
  static var jsonTagging: JSONTagging { .external(names: ["g": "go"]) }
}

@Model(version: 1)
enum Signal2: Equatable, SignalType {
  case go(speed: Int)
  case wait
  static var jsonTagging: JSONTagging { .adjacent("t", "v", names: ["go": "wait", "wait": "go"]) }
}

@Model(version: 1)
enum Signal3: Equatable, SignalType {
  case go(speed: Int)
  case wait
  static var jsonTagging: JSONTagging { .adjacent("t", "v", names: ["g": "go", "w": "wait", "old": "wait"]) }
}

@Model(version: 1)
enum Signal4: Equatable, SignalType {
  case go(speed: Int)
  case wait
  static var jsonTagging: JSONTagging { .external(names: ["s": "stop"]) }
}

@Model(version: 1)
enum Signal5: Equatable, SignalType {
  case go(speed: Int)
  case wait
  static var jsonTagging: JSONTagging { .external(names: ["s": "go", "s": "wait"]) }
}

@Model(version: 1)
enum Signal6: Equatable, SignalType {
  case go(speed: Int)
  case wait
  static var jsonTagging: JSONTagging { .adjacent("t", "v", names: ["wait": "go"]) }
}
