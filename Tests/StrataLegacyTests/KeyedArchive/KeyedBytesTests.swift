import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

@Suite("Keyed archives: decoding bytes and rewritten property lists")
struct KeyedBytesTests {
  /// A form with every kind of value.
  private static func form(_ number: Int, children: [Form] = []) throws -> Form {
    let url = try #require(URL(string: "https://example.org/\(number)"))
    let base = Date(timeIntervalSinceReferenceDate: 12.5)
    let record = ModelRecord(
      typeName: "Form", modelVersion: 1,
      fields: [
        ("id", .int(Int64(number))), ("b", 200), ("r", 2.5), ("f", .float(1.25)), ("p", .decimal(12.75)),
        ("n", "Grüße, 世界 👋"), ("o", number.isMultiple(of: 2) ? true : .null), ("u", .url(url)),
        ("d", .data(Data([1, 2, 3]))), ("m", ["a": [1, .date(base), .uuid(UUID())], "b": "text"]),
        ("login", number.isMultiple(of: 3) ? .null : "l"), ("k", ["one": 1, "two": 2]), ("t", .set(["x", "y"])),
        ("c", .array(try children.map { try $0.value() })),
      ])
    return try ArchiveDecoder().form(record)
  }

  private static func archives() throws -> [Data] {
    let forms = try (0..<6).map { try form($0, children: $0 == 1 ? [form(7), form(8)] : []) }
    var inPlace = KeyedWriting()
    inPlace.numbers = .inPlace
    return [
      try ArchiveEncoder().encodeKeyed(forms), try ArchiveEncoder().encodeKeyed(forms, options: inPlace),
      try ArchiveEncoder().encodeKeyed(forms) { $0.modelVersion = nil },
      try ArchiveEncoder().encodeKeyed(forms) { $0.modelVersion = 0 },
      try ArchiveEncoder().encodeKeyed(forms) { $0["more"] = 5 },
    ]
  }

  @Test("A rewritten property list gives the same models") func same() throws {
    for data in try Self.archives() {
      #expect(try ArchiveDecoder().decode([Form].self, fromKeyed: data).count == 6)
      try KeyedTrial.compareTable([Form].self, data)
      try KeyedTrial.compareTable(ArchiveValue.self, data)
    }
  }

  @Test("X-7: a flipped bit gives the same models or error from bytes and from the rewritten list", .tags(.long))
  func flips() throws {
    let data = try ArchiveEncoder().encodeKeyed([Self.form(1), Self.form(2)])
    // Flips bits at regular distances from a random start, so that different runs flip different bits.
    for bit in stride(from: Int.random(in: 0..<5), to: data.count * 8, by: Effort.rounds(61, long: 11)) {
      var flipped = data
      flipped[bit / 8] ^= 1 << (bit % 8)
      try KeyedTrial.compareTable([Form].self, flipped)
    }
    for length in Effort.sample(40, of: 0..<data.count) {
      try KeyedTrial.compareTable([Form].self, data.prefix(length))
    }
  }

  @Test(
    "X-7: oversized counts and references give the same result from bytes and rewritten list", .tags(.long))
  func larger() throws {
    let data = try Self.archives()[0]
    for place in Effort.sample(60, of: data.indices) {
      var changed = data
      changed[place] &+= 7
      try KeyedTrial.compareTable([Form].self, changed)
    }
  }

  @Test(
    "X-7: random changes give the same models or error from bytes and from the rewritten list",
    arguments: [UInt64.random(in: 0 ... .max)])
  func changes(seed: UInt64) throws {
    print("keyed archives, changed bytes: seed \(seed)")
    var random = SeededRandom(seed: seed)
    for data in try Self.archives() {
      for _ in 0..<100 {
        var changed = data
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          changed[Int.random(in: 0..<data.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        try KeyedTrial.compareTable([Form].self, changed)
      }
    }
  }

  /// Unusual archives that must decode to the same result.
  private static let unusual: [(String, [Plist])] = [
    ("a key twice", [["$class": .uid(2), "n": "a", "n": "b"], .type("Form")]),
    ("a foreign key twice", [["$class": .uid(2), "z": 1, "z": 1], .type("Form")]),
    ("a foreign key that refers to nothing", [["$class": .uid(2), "z": .uid(9)], .type("Form")]),
    ("a newer version", [["$class": .uid(2), "MTLModelVersion": 2], .type("Form")]),
    ("a version below 0", [["$class": .uid(2), "MTLModelVersion": -1], .type("Form")]),
    ("numbers that stand for others", [["$class": .uid(2), "id": 2.0, "o": 1, "r": true, "b": true], .type("Form")]),
    ("a number that is not whole", [["$class": .uid(2), "id": 2.5], .type("Form")]),
    ("nil", [["$class": .uid(2), "id": .uid(0), "n": .uid(0)], .type("Form")]),
    ("what nothing refers to", [["$class": .uid(2), "n": "a"], .type("Form"), "unused"]),
    (
      "a cycle",
      [
        ["$class": .uid(2), "c": .uid(3)], .type("Form"), ["$class": .uid(4), "NS.objects": [.uid(1)]],
        .type("NSArray"),
      ]
    ),
    ("another class", [["$class": .uid(2), "c": .uid(3)], .type("Form"), ["$class": .uid(4)], .type("Other")]),
    (
      "a class that may be replaced",
      [
        ["$class": .uid(2), "n": "a"],
        ["$classname": "Unknown", "$classes": ["Unknown"], "$classhints": ["Form"]],
      ]
    ),
    ("an observed class", [["$class": .uid(2), "n": "a"], .type("NSKVONotifying_Form", "Form")]),
    ("shared models", [["$class": .uid(2), "c": [.uid(3), .uid(3)]], .type("Form"), ["$class": .uid(2), "n": "a"]]),
    ("an external representation", [["$class": .uid(2), "externalRepresentation": 1], .type("Form")]),
    (
      "an empty URL",
      [
        ["$class": .uid(2), "u": .uid(3)], .type("Form"),
        ["$class": .uid(4), "NS.base": .uid(0), "NS.relative": ""], .type("NSURL"),
      ]
    ),
    (
      "a URL with a base",
      [
        ["$class": .uid(2), "u": .uid(3)], .type("Form"),
        ["$class": .uid(4), "NS.base": .uid(5), "NS.relative": "x"], .type("NSURL"),
        ["$class": .uid(4), "NS.base": .uid(0), "NS.relative": "https://a.b/"],
      ]
    ),
    (
      "a set with something twice",
      [
        ["$class": .uid(2), "t": .uid(3)], .type("Form"),
        ["$class": .uid(4), "NS.objects": ["a", "a"]], .type("NSSet"),
      ]
    ),
    (
      "a dictionary with a key twice",
      [
        ["$class": .uid(2), "k": .uid(3)], .type("Form"),
        ["$class": .uid(4), "NS.keys": ["a", "a"], "NS.objects": [1, 2]], .type("NSDictionary"),
      ]
    ),
    (
      "a model where any value may stand",
      [
        ["$class": .uid(2), "m": .uid(3)], .type("Form"),
        ["$class": .uid(2), "n": "a"],
      ]
    ),
    (
      "a set where any value may stand",
      [["$class": .uid(2), "m": .uid(3)], .type("Form"), ["$class": .uid(4), "NS.objects": ["a"]], .type("NSSet")]
    ),
    (
      "a set of equal models",
      [
        ["$class": .uid(2), "m": .uid(3)], .type("Form"),
        ["$class": .uid(4), "NS.objects": [.uid(5), .uid(6)]], .type("NSSet"), ["$class": .uid(2), "n": "a"],
        ["$class": .uid(2), "n": "a"],
      ]
    ),
    (
      "a counted set of equal models",
      [
        ["$class": .uid(2), "m": .uid(3)], .type("Form"),
        [
          "$class": .uid(4), "NS.count": 2, "NS.object0": .uid(5), "NS.count0": 2, "NS.object1": .uid(6),
          "NS.count1": 3,
        ], .type("NSCountedSet"), ["$class": .uid(2), "n": "a"], ["$class": .uid(2), "n": "a"],
      ]
    ),
    (
      "a set of lists of equal models",
      [
        ["$class": .uid(2), "m": .uid(3)], .type("Form"),
        ["$class": .uid(4), "NS.objects": [.uid(5), .uid(6)]], .type("NSSet"), [.uid(7)], [.uid(8)],
        ["$class": .uid(2), "n": "a"], ["$class": .uid(2), "n": "a"],
      ]
    ),
    (
      "models in a list, and then in a set with their equals",
      [
        ["$class": .uid(2), "m": .uid(3)], .type("Form"),
        ["$class": .uid(4), "NS.objects": [.uid(5), .uid(5), .uid(5), .uid(6), .uid(7)]], .type("NSArray"),
        ["$class": .uid(2), "n": "a"], ["$class": .uid(2), "n": "a"],
        ["$class": .uid(8), "NS.objects": [.uid(5), .uid(6)]], .type("NSSet"),
      ]
    ),
    (
      "a dictionary with equal models as keys",
      [
        ["$class": .uid(2), "m": .uid(3)], .type("Form"),
        ["$class": .uid(4), "NS.keys": [.uid(5), .uid(6)], "NS.objects": [1, 2]], .type("NSDictionary"),
        ["$class": .uid(2), "n": "a"], ["$class": .uid(2), "n": "a"],
      ]
    ),
    ("NSNull", [["$class": .uid(2), "n": .uid(3)], .type("Form"), ["$class": .uid(4)], .type("NSNull")]),
  ]

  @Test(
    "An unusual archive gives the same models or error after its property list is rewritten",
    arguments: unusual.indices)
  func strange(place: Int) throws {
    let data = try PropertyListWriter().write(Plist.keyed(Self.unusual[place].1).table)
    try KeyedTrial.compareTable(Form.self, data)
    try KeyedTrial.compareTable(ArchiveValue.self, data)
  }

  @Test("Equal models in sets, or as keys, stay separate")
  func equalMembers() throws {
    for (name, expected) in [
      ("a set of equal models", #"[Form(n: "a"), Form(n: "a")]"#),
      ("a counted set of equal models", #"[Form(n: "a"): 2, Form(n: "a"): 3]"#),
      ("a set of lists of equal models", #"[[Form(n: "a")], [Form(n: "a")]]"#),
      (
        "models in a list, and then in a set with their equals",
        #"[Form(n: "a"), Form(n: "a"), Form(n: "a"), Form(n: "a"), [Form(n: "a"), Form(n: "a")]]"#
      ),
      ("a dictionary with equal models as keys", #"[Form(n: "a"): 1, Form(n: "a"): 2]"#),
      ("a model where any value may stand", #"Form(n: "a")"#),
    ] {
      let objects = try #require(Self.unusual.first { $0.0 == name }?.1)
      let data = try PropertyListWriter().write(Plist.keyed(objects).table)
      #expect(try ArchiveDecoder().decode(Form.self, fromKeyed: data).more.description == expected, "\(name)")
    }
  }

  @Test("Enums with associated values round-trip at any position") func enums() throws {
    let payments: [Payment] = [.cash, .card(number: "1", expiry: nil), .split(.cash, .card(number: "2", expiry: nil))]
    let lists = ["a": payments, "b": [.cash]]
    let (one, many) = (try ArchiveEncoder().encodeKeyed(payments), try ArchiveEncoder().encodeKeyed(lists))
    #expect(try ArchiveDecoder().decode([Payment].self, fromKeyed: one) == payments)
    #expect(try ArchiveDecoder().decode([Payment].self, fromKeyed: KeyedArchive(one)) == payments)
    #expect(try ArchiveDecoder().decode([String: [Payment]].self, fromKeyed: many) == lists)
    #expect(try ArchiveDecoder().decode([String: [Payment]].self, fromKeyed: KeyedArchive(many)) == lists)
    let root = try ArchiveEncoder().encodeKeyed(payments[1])
    #expect(try ArchiveDecoder().decode(Payment.self, fromKeyed: root) == payments[1])
    #expect(try ArchiveDecoder().decode(Payment.self, fromKeyed: KeyedArchive(root)) == payments[1])
  }

  @Test("A chain of known objects adds nothing to the decoding depth") func depth() throws {
    var knots = Knot("last", nil, [], nil, .null, [:], nil)
    for number in 0..<40 { knots = Knot("\(number)", knots, [], nil, .null, [:], nil) }
    let data = try ArchiveEncoder().encodeKeyed(knots)
    var decoder = ArchiveDecoder()
    decoder.limits.depth = 32
    #expect(try decoder.decode(Knot.self, fromKeyed: data).name == "39")
    #expect(try decoder.decode(Knot.self, fromKeyed: KeyedArchive(data, limits: decoder.limits)).name == "39")
  }

  @Test("Shared attributes count for each run, and runs beyond the end of the text round-trip")
  func attributedRuns() throws {
    let info = [UInt8](repeating: 0, count: 200_000)
    let objects: [Plist] = [
      [
        "$class": .uid(2), "NSString": "", "NSAttributes": [.array(.init(repeating: true, count: 1000))],
        "NSAttributeInfo": .data(info),
      ],
      .type("NSAttributedString"),
    ]
    let data = try PropertyListWriter().write(Plist.keyed(objects).table)
    #expect(archiveError { _ = try KeyedArchive(data) }?.limit == .values)
    let runs: [Plist] = [
      [
        "$class": .uid(2), "string": "text",
        "runs": [
          ["location": 0, "length": .plain(.integer(WideInteger(Int.max))), "attributes": 1],
          ["location": .plain(.integer(WideInteger(Int.max))), "length": 1, "attributes": 1],
        ],
      ], .type("NSAttributedString"),
    ]
    let archive = try KeyedArchive(PropertyListWriter().write(Plist.keyed(runs).table))
    #expect(try KeyedArchive(archive.data()).graph == archive.graph)
  }

  @Test("Shared arrays that expand exponentially exceed the limit of values") func sharing() throws {
    var shared: [Plist] = (2...40).map { .array(.init(repeating: .uid(UInt64($0)), count: 8)) }
    shared.append("end")
    let data = try PropertyListWriter().write(Plist.keyed(shared).table)
    #expect(archiveError { _ = try ArchiveDecoder().decode(ArchiveValue.self, fromKeyed: data) }?.limit == .values)
  }
}

extension ArchiveDecoder {
  fileprivate func form(_ record: ModelRecord) throws -> Form {
    try Form.decode(from: .record(record), in: DecodingContext())
  }
}

extension Form {
  fileprivate func value() throws -> ArchiveValue { .record(try record()) }
}
