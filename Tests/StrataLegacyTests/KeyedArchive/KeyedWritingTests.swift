import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

@Suite("Encoding keyed archives")
struct KeyedWritingTests {
  /// The objects of a written archive by their UIDs.
  private static func objects(_ data: Data) throws -> [PropertyList.Object] {
    let list = try PropertyListReader().read(data)
    guard let number = try member("$objects", of: list.root, in: list), case .array(let numbers) = list.objects[number]
    else { throw CancellationError() }
    return numbers.map { list.objects[$0] }
  }

  private static func member(_ key: String, of number: Int, in list: PropertyList) throws -> Int? {
    guard case .dictionary(let entries) = list.objects[number] else { return nil }
    return entries.first { list.objects[$0.key] == .string(key) }?.value
  }

  /// The keys of each class in an archive. Each key is followed by `true` if its value is stored inside the object, or `false` if not.
  static func shape(_ data: Data) throws -> [String: Set<String>] {
    let list = try PropertyListReader().read(data)
    guard let number = try member("$objects", of: list.root, in: list), case .array(let numbers) = list.objects[number]
    else { throw CancellationError() }
    var shape: [String: Set<String>] = [:]
    for number in numbers {
      guard case .dictionary(let entries) = list.objects[number],
        let type = try member("$class", of: number, in: list), case .uid(let uid) = list.objects[type],
        let name = try member("$classname", of: numbers[Int(uid)], in: list),
        case .string(let typeName) = list.objects[name]
      else { continue }
      for entry in entries {
        guard case .string(let key) = list.objects[entry.key] else { continue }
        var isInPlace = true
        if case .uid(let uid) = list.objects[entry.value] {
          // Skips nil, which is stored neither inside nor outside the object.
          if uid == 0 { continue }
          isInPlace = false
        }
        shape[typeName, default: []].insert("\(key) \(isInPlace)")
      }
    }
    return shape
  }

  @Test("A rewritten archive keeps its keys, classes and the positions of its values")
  func readAndWritten() throws {
    let list = Plist.keyed(
      [
        [
          "$class": .uid(3), "MTLModelVersion": .uid(5), "name": .uid(2), "count": 5, "$$price": 1.5, "$0": .uid(2),
          "parent": .uid(0), "bytes": .data([1, 2]), "items": [.uid(2), .uid(1)], "box": .uid(4),
        ],
        "Ada", ["$classname": "App.User", "$classes": ["App.User", "NSObject"], "$classhints": ["User"]],
        ["$class": .uid(6), "NS.objects": [.uid(1), .uid(2), .uid(7)]], 2,
        .type("NSMutableArray", "NSArray", "NSObject"),
        ["$class": .uid(8)], .type("NSNull", "NSObject"),
      ], top: ["root": .uid(1), "other": 4, "$0": .uid(2)]
    ).table
    let archive = try KeyedArchive(list)
    let data = try archive.data()
    let again = try KeyedArchive(data)
    #expect(again.graph == archive.graph)
    #expect(again.top == archive.top)
    #expect(again.archiver == "NSKeyedArchiver")
    #expect(again.classChain(of: "App.User") == ["App.User", "NSObject"])
    #expect(again.classHints(of: "App.User") == ["User"])
    #expect(try again.data() == data)
    #expect(try Self.shape(data)["App.User"] == Self.shape(PropertyListWriter().write(list))["App.User"])
  }

  @Test("A changed graph is encoded, with new fields and classes as the options specify")
  func changed() throws {
    var archive = try KeyedArchive(
      ["$class": .uid(2), "count": 5, "size": .uid(3)], .type("App.User", "NSObject"), 7)
    guard case .record(var record) = archive.graph.objects[0] else { throw CancellationError() }
    record["count"] = 6
    record["size"] = 8
    record["weight"] = 9
    record["$key"] = .record(ModelRecord(typeName: "Tag", modelVersion: 4, fields: [("on", true)]))
    archive.graph.objects[0] = .record(record)
    var options = KeyedWriting()
    options.classes["Tag"] = ["GHTag", "MTLModel", "NSObject"]
    for numbers in [KeyedWriting.Numbers.objects, .inPlace] {
      options.numbers = numbers
      let data = try archive.data(options)
      let isInPlace = numbers == .inPlace
      let shape = try Self.shape(data)
      #expect(
        shape["App.User"] == [
          "$class false", "count true", "size false", "weight \(isInPlace)", "$$key false",
        ])
      #expect(shape["GHTag"] == ["$class false", "MTLModelVersion \(isInPlace)", "on \(isInPlace)"])
      let again = try KeyedArchive(data)
      #expect(again.graph.objects.count == 2)
      #expect(again.graph.objects[0]["count"] == 6)
      #expect(again.classChain(of: "GHTag") == ["GHTag", "MTLModel", "NSObject"])
      #expect(again.graph.resolve(again.graph.objects[0]["$key"] ?? .null)?.recordValue?.modelVersion == 4)
    }
  }

  /// A value of each kind that a keyed archive can contain.
  static let samples: [ArchiveValue] = [
    .null, true, false, 0, -1, .int(.min), .int(.max), .uint(.max),
    .wideInteger(WideInteger(isNegative: true, magnitude: 1 << 100)), .float(1.5), .double(-0.0), .double(.infinity),
    "", "a", "é", "e\u{301}", "😀", "$null", "$class", .data(Data()), .data(Data([1, 2, 3])),
    .date(Date(timeIntervalSinceReferenceDate: 1234.5)), .uuid(UUID()),
    .decimal(Decimal(sign: .minus, exponent: -3, significand: Decimal(1_234_567_890_123_456_789))), .decimal(0),
    .decimal(.nan),
    .decimal(.greatestFiniteMagnitude), .decimal(.leastFiniteMagnitude), .decimal(.leastNonzeroMagnitude),
    .decimal(Decimal(sign: .plus, exponent: 127, significand: 10)),
    URL(string: "https://example.com/a?b#c").map { .url($0) } ?? 0,
    URL(string: "b/c", relativeTo: URL(string: "https://example.com/a/")).map { .url($0) } ?? 0,
    [], [1, .null, [2, "a"]], .set([]), .set([1, "a"]), [:], ["a": 1, "$b": .null, "": [:]],
    .map([.init(key: 1, value: "a"), .init(key: .null, value: .null), .init(key: "b", value: [:])]),
  ]

  @Test("Every kind of value round-trips, in a field and in a collection", arguments: samples)
  func values(_ value: ArchiveValue) throws {
    let record = ArchiveValue.record(
      ModelRecord(typeName: "Box", modelVersion: nil, fields: [("value", value), ("all", [value])]))
    let archive = KeyedArchive(ObjectGraph(objects: [record], root: .reference(0)))
    let again = try KeyedArchive(archive.data())
    #expect(again.graph == archive.graph)
    // Values that Swift considers equal may differ in the archive's bytes.
    #expect(try ArchiveEncoder().encode(again.graph.objects[0]) == ArchiveEncoder().encode(record))
    var options = KeyedWriting()
    options.usesMutableCollections = true
    #expect(try KeyedArchive(archive.data(options)).graph == archive.graph)
  }

  @Test("Only bitwise equal values are shared, so numbers keep their types and strings their spellings")
  func sharedScalars() throws {
    let values: [ArchiveValue] = [
      true, 1, 1.0, .float(1), false, 0, 0.0, -0.0, "é", "e\u{301}", true, 1, 1.0, "é", .int(.max), .uint(.max),
    ]
    let data = try KeyedArchive(ObjectGraph(objects: [], root: .array(values))).data()
    let again = try KeyedArchive(data).graph.root
    #expect(try ArchiveEncoder().encode(again) == ArchiveEncoder().encode(ArchiveValue.array(values)))
    // The archive contains nil, the array, its class, and the 12 distinct objects.
    #expect(try Self.objects(data).count == 3 + 12)
  }

  @Test("Values use the keys of Foundation's own encodings")
  func encodings() throws {
    let date = Date(timeIntervalSinceReferenceDate: 1.5)
    let uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
    let url = try #require(URL(string: "b", relativeTo: URL(string: "https://example.com/")))
    let expected: [(ArchiveValue, String, [(String, PropertyList.Object)])] = [
      (.date(date), "NSDate", [("NS.time", .double(1.5))]),
      (.uuid(uuid), "NSUUID", [("NS.uuidbytes", .data(Data(1...16)))]),
      (.url(url), "NSURL", [("NS.base", .uid(3)), ("NS.relative", .uid(6))]),
      (.null, "NSNull", []), ("$null", "NSString", [("NS.string", .string("$null"))]),
      (
        .decimal(Decimal(sign: .minus, exponent: -2, significand: 1_234_567)), "NSDecimalNumber",
        [
          ("NS.exponent", .integer(-2)), ("NS.length", .integer(2)), ("NS.negative", .bool(true)),
          ("NS.compact", .bool(true)),
          ("NS.mantissa", .data(Data([0x87, 0xD6, 0x12] + [UInt8](repeating: 0, count: 13)))),
          ("NS.mantissa.bo", .integer(1)),
        ]
      ),
      (
        .decimal(.nan), "NSDecimalNumber",
        [
          ("NS.exponent", .integer(0)), ("NS.length", .integer(0)), ("NS.negative", .bool(true)),
          ("NS.compact", .bool(true)), ("NS.mantissa", .data(Data(count: 16))), ("NS.mantissa.bo", .integer(1)),
        ]
      ),
    ]
    for (value, name, members) in expected {
      let data = try KeyedArchive(ObjectGraph(objects: [], root: [value])).data()
      let list = try PropertyListReader().read(data)
      let object = try #require(
        try Self.objects(data).lazy.compactMap { object -> [PropertyList.Entry]? in
          guard case .dictionary(let entries) = object else { return nil }
          let keys = entries.map { list.objects[$0.key] }
          return keys == [.string("$class")] + members.map { .string($0.0) } ? entries : nil
        }.first, "\(name)")
      #expect(object.dropFirst().map { list.objects[$0.value] } == members.map(\.1))
      #expect(try Self.shape(data)[name]?.count == members.count + 1)
    }
  }

  @Test("Shared objects and cycles are encoded once, and a long list does not overflow the stack")
  func sharing() throws {
    func node(_ fields: [(key: String, value: ArchiveValue)]) -> ArchiveValue {
      .record(ModelRecord(typeName: "Node", modelVersion: 1, fields: fields))
    }
    let circle = ObjectGraph(
      objects: [
        node([("first", .reference(1)), ("second", .reference(1)), ("all", .reference(2))]),
        node([("back", .reference(0))]), [.reference(1), .reference(2)],
      ], root: .reference(0))
    #expect(try KeyedArchive(KeyedArchive(circle).data()).graph == circle)
    let count = 20_000
    let list = ObjectGraph(
      objects: (0..<count).map { node([("next", $0 + 1 == count ? .null : .reference($0 + 1))]) }, root: .reference(0))
    #expect(try KeyedArchive(KeyedArchive(list).data()).graph == list)
  }

  @Test("Unreachable objects are omitted, and a root under another key is found")
  func reachable() throws {
    let graph = ObjectGraph(objects: [[], .record(ModelRecord(typeName: "A", modelVersion: nil))], root: .reference(1))
    let archive = try KeyedArchive(KeyedArchive(graph, key: "data").data())
    #expect(archive.graph.objects.count == 1)
    #expect(archive.top == ["data": .reference(0)])
  }

  @Test("Foundation, AppKit and UIKit classes use their own encodings")
  func foundation() throws {
    let range: ArchiveValue = ["location": 1, "length": 2]
    let records: [(ModelRecord, Set<String>)] = [
      (
        ModelRecord(typeName: "NSIndexSet", modelVersion: nil, fields: [("ranges", [range])]),
        ["NSRangeCount true", "NSLocation true", "NSLength true"]
      ),
      (
        ModelRecord(
          typeName: "NSMutableIndexSet", modelVersion: nil,
          fields: [("ranges", [range, ["location": 300, "length": .int(1 << 40)]])]),
        ["NSRangeCount true", "NSRangeData false"]
      ),
      (ModelRecord(typeName: "NSIndexSet", modelVersion: nil, fields: [("ranges", [])]), ["NSRangeCount true"]),
      (
        ModelRecord(
          typeName: "NSAttributedString", modelVersion: nil,
          fields: [
            ("string", "abcé"),
            (
              "runs",
              [
                ["location": 0, "length": 1, "attributes": ["size": 2]],
                ["location": 1, "length": 2, "attributes": [:]],
                ["location": 3, "length": 1, "attributes": ["size": 2]],
              ]
            ), ("other", 1),
          ]),
        ["NSString false", "NSAttributes false", "NSAttributeInfo false", "other true"]
      ),
      (
        ModelRecord(
          typeName: "NSValue", modelVersion: nil, fields: [("rect", ["x": 1.0, "y": 2.0, "width": 3.5, "height": 4.0])]),
        ["NS.special true", "NS.rectval false"]
      ),
      (
        ModelRecord(typeName: "NSValue", modelVersion: nil, fields: [("range", range)]),
        ["NS.special true", "NS.rangeval.location false", "NS.rangeval.length false"]
      ),
      (ModelRecord(typeName: "NSTimeZone", modelVersion: nil, fields: [("name", "UTC")]), ["NS.name false"]),
      (
        ModelRecord(typeName: "UIFont", modelVersion: nil, fields: [("name", "Arial"), ("size", 9.5)]),
        ["UIFontName false", "UIFontPointSize true"]
      ),
      (
        ModelRecord(typeName: "NSFont", modelVersion: nil, fields: [("name", "Arial"), ("size", 9.5)]),
        ["NSName false", "NSSize true"]
      ),
      (
        ModelRecord(
          typeName: "NSCalendar", modelVersion: nil, fields: [("identifier", "gregorian"), ("firstWeekday", 2)]),
        ["NS.identifier false", "NS.firstwkdy true"]
      ),
    ]
    for (record, keys) in records {
      let graph = ObjectGraph(objects: [.record(record)], root: .reference(0))
      let data = try KeyedArchive(graph).data()
      #expect(try Self.shape(data)[record.typeName] == keys.union(["$class false"]))
      #expect(try KeyedArchive(data).graph == graph)
    }
  }

  @Test(
    "A value that a keyed archive cannot represent throws an error with its path",
    arguments: [
      (["a": .reference(9)], "root.a"), ([1, .reference(-1)], "root[1]"),
      (["a": [.graph(ObjectGraph(objects: [], root: 1))]], "root.a[0]"),
      ([.wideInteger(WideInteger(isNegative: false, magnitude: .max))], "root[0]"),
      (.reference(1), "root"),
      (.record(ModelRecord(typeName: "A", modelVersion: 1, fields: [("MTLModelVersion", 1)])), "root.MTLModelVersion"),
      (.reference(0), "root.deep[0].a"),
    ] as [(ArchiveValue, String)])
  func notEncodable(_ root: ArchiveValue, _ path: String) {
    let bad: ArchiveValue = ["deep": [["a": .reference(99)]]]
    let archive = KeyedArchive(ObjectGraph(objects: [bad, .reference(0)], root: root))
    let error = archiveError { _ = try archive.data() }
    #expect(error?.code == .notEncodable)
    #expect(error?.pathDescription == path)
  }

  @Test("Numbers out of range, classes without a name and unsupported roots throw notEncodable")
  func otherErrors() throws {
    let number = try JSONReader().read(Data("[1e999]".utf8))
    #expect(
      archiveError { _ = try KeyedArchive(ObjectGraph(objects: [], root: number)).data() }?.code == .notEncodable)
    var options = KeyedWriting()
    options.classes = ["A": []]
    let record = ArchiveValue.record(ModelRecord(typeName: "A", modelVersion: nil))
    let archive = KeyedArchive(ObjectGraph(objects: [record], root: .reference(0)))
    #expect(archiveError { _ = try archive.data(options) }?.code == .notEncodable)
    var other = KeyedArchive(ObjectGraph(objects: [], root: 1), key: "a")
    other.graph.root = 2
    #expect(archiveError { _ = try other.data() }?.code == .notEncodable)
  }

  @Test("Plain values can nest at most 512 levels deep", arguments: [true, false])
  func depth(_ isRight: Bool) throws {
    for wrap in [
      { [$0] }, { ["a": $0] }, { .record(ModelRecord(typeName: "A", modelVersion: nil, fields: [("a", $0)])) },
    ]
      as [(ArchiveValue) -> ArchiveValue]
    {
      var value: ArchiveValue = 1
      for _ in 0..<(isRight ? 512 : 513) { value = wrap(value) }
      let archive = KeyedArchive(ObjectGraph(objects: [], root: value))
      if isRight {
        #expect(throws: Never.self) { try KeyedArchive(archive.data()) }
      } else {
        #expect(archiveError { _ = try archive.data() }?.limit == .depth)
      }
    }
  }
}
