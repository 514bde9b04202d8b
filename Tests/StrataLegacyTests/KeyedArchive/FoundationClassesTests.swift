import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

@Suite("Foundation classes in keyed archives")
struct FoundationClassesTests {
  /// Decodes an archive whose root is one object. Object 2 is its class, and `more` has the objects from number 3 on.
  private func value(_ type: String, _ fields: Plist, _ more: Plist...) throws -> ArchiveValue {
    guard case .dictionary(let members) = fields else { return .null }
    let object = Plist.dictionary([("$class", .uid(2))] + members)
    let archive = try KeyedArchive(Plist.keyed([object, .type(type, "NSObject")] + more).table)
    return try #require(archive.graph.resolve(archive.graph.root))
  }

  @Test(
    "Plain values are decoded from all of their encodings",
    arguments: [
      ("NSString", ["NS.string": "text"], "text"),
      ("NSMutableString", ["NS.string": "text"], "text"),
      ("NSString", ["NS.bytes": .data([0x74, 0xC3, 0xA9])], "té"),
      ("NSNumber", ["NS.boolval": true], true),
      ("NSNumber", ["NS.boolval": 0], false),
      ("NSNumber", ["NS.intval": 5], 5),
      ("NSNumber", ["NS.dblval": 0.5], 0.5),
      ("NSDate", ["NS.time": 1.5], .date(Date(timeIntervalSinceReferenceDate: 1.5))),
      ("NSDate", ["NS.time": 1], .date(Date(timeIntervalSinceReferenceDate: 1))),
      ("NSData", ["NS.data": .data([1, 2])], .data(Data([1, 2]))),
      ("NSMutableData", ["NS.bytes": .data([3])], .data(Data([3]))),
      ("NSNull", [:], .null),
      ("NSArray", ["NS.objects": [1, "a"]], [1, "a"]),
      ("NSMutableArray", [:], []),
      ("NSArray", ["NS.object.1": "b", "NS.object.0": "a"], ["a", "b"]),
      ("NSOrderedSet", ["NS.object.0": 1], [1]),
      ("NSSet", ["NS.objects": [1, 2, 1]], .set([1, 2])),
      ("NSCountedSet", ["NS.count": 1, "NS.object0": "a", "NS.count0": 3], .map([.init(key: "a", value: 3)])),
      ("NSCountedSet", ["NS.objects": ["a"]], .set(["a"])),
      ("NSDictionary", ["NS.keys": ["b", "a"], "NS.objects": [1, 2]], ["b": 1, "a": 2]),
      ("NSMutableDictionary", ["NS.key.0": "a", "NS.object.0": 1], ["a": 1]),
      (
        "NSDictionary", ["NS.keys": [1, "a"], "NS.objects": [1, 2]],
        .map([.init(key: 1, value: 1), .init(key: "a", value: 2)])
      ),
      (
        "NSUUID", ["NS.uuidbytes": .data(Array(1...16))],
        .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))
      ),
    ] as [(String, Plist, ArchiveValue)])
  func plain(_ type: String, _ fields: Plist, _ expected: ArchiveValue) throws {
    #expect(try value(type, fields) == expected)
  }

  @Test("A URL is resolved against its base URL")
  func urls() throws {
    let base: Plist = ["$class": .uid(2), "NS.base": .uid(0), "NS.relative": "https://example.com/a/"]
    let url = try value("NSURL", ["NS.base": .uid(3), "NS.relative": "b"], base)
    guard case .url(let found) = url else { throw CancellationError() }
    #expect(found.absoluteString == "https://example.com/a/b")
    #expect(found.baseURL?.absoluteString == "https://example.com/a/")
    #expect(try value("NSURL", ["NS.relative": ""]) == "")
  }

  @Test(
    "Decimals with both byte orders, negative decimals and NaN are decoded",
    arguments: [
      ([0x39, 0x30], 1, -2, false, 1, "123.45"), ([0x30, 0x39], 1, -2, true, 2, "-123.45"),
      ([0, 0, 1, 0], 2, 0, false, 1, "65536"), ([], 0, 0, false, 1, "0"), ([], 0, 0, true, 1, "NaN"),
    ] as [([UInt8], Int64, Int64, Bool, Int64, String)])
  func decimals(
    _ digits: [UInt8], _ length: Int64, _ exponent: Int64, _ isNegative: Bool, _ order: Int64, _ text: String
  ) throws {
    let mantissa = digits + [UInt8](repeating: 0, count: 16 - digits.count)
    let found = try value(
      "NSDecimalNumber",
      [
        "NS.mantissa": .data(mantissa), "NS.length": .init(integerLiteral: length),
        "NS.exponent": .init(integerLiteral: exponent), "NS.negative": .init(booleanLiteral: isNegative),
        "NS.mantissa.bo": .init(integerLiteral: order), "NS.compact": true,
      ])
    guard case .decimal(let decimal) = found else { throw CancellationError() }
    #expect(decimal.description == text)
  }

  @Test("A private Foundation class becomes its public class, and an app's subclass stays a record")
  func subclasses() throws {
    let own = try KeyedArchive(
      ["$class": .uid(2), "NS.string": "a"], .type("App.Text", "NSString", "NSObject"))
    #expect(own.graph.objects.first?.recordValue?.typeName == "App.Text")
    let hidden = try KeyedArchive(
      ["$class": .uid(2), "NS.string": "a"], .type("__NSCFString", "NSString", "NSObject"))
    #expect(hidden.graph.root == "a")
  }

  @Test("A Foundation object in an unknown encoding stays a record with all of its keys")
  func unknownEncoding() throws {
    let record = try #require(try value("NSDate", ["seconds": 4]).recordValue)
    #expect(record.typeName == "NSDate")
    #expect(record["seconds"] == 4)
  }

  @Test(
    "A collection with an unknown key that resembles a known one stays a record and loses nothing",
    arguments: [
      ("NSArray", ["NS.objectCount": 1]), ("NSArray", ["NS.object": "a"]), ("NSMutableArray", ["NS.object.": "a"]),
      ("NSArray", ["NS.object.x": "a"]), ("NSArray", ["NS.object.-1": "a"]), ("NSOrderedSet", ["NS.objects2": ["a"]]),
      ("NSSet", ["NS.object0": "a"]), ("NSSet", ["NS.object.０": "a"]), ("NSDictionary", ["NS.keyed": true]),
      ("NSDictionary", ["NS.keysAndObjects": ["a"]]), ("NSMutableDictionary", ["NS.object.a": 1, "NS.key.a": 2]),
      ("NSCountedSet", ["NS.objectsByCount": ["a"]]), ("NSCountedSet", ["NS.object.x": 1]),
      ("NSCountedSet", ["NS.counts": 1]),
    ] as [(String, Plist)])
  func unknownKeysOfCollections(_ type: String, _ fields: Plist) throws {
    guard case .dictionary(let members) = fields else { return }
    let record = try #require(try value(type, fields).recordValue)
    #expect(record.typeName == type && record.keys.count == members.count)
    let object = Plist.dictionary([("$class", .uid(2))] + members)
    let archive = try KeyedArchive(Plist.keyed([object, .type(type, "NSObject")]).table)
    #expect(try KeyedArchive(archive.data()).graph == archive.graph)
  }

  @Test(
    "A collection with a wrong number of elements throws damaged",
    arguments: [
      ("NSArray", ["NS.object.1": "b"]), ("NSArray", ["NS.object.00": "b"]),
      ("NSArray", ["NS.object.0": "a", "NS.object.01": "b"]),
      ("NSCountedSet", ["NS.count": 1, "NS.object0": "a", "NS.count0": 1, "NS.object1": "b", "NS.count1": 1]),
      ("NSCountedSet", ["NS.count": "1", "NS.objects": ["a"]]), ("NSCountedSet", ["NS.count": 0, "NS.objects": ["a"]]),
      ("NSCountedSet", ["NS.count": 1]), ("NSDictionary", ["NS.keys": ["a"]]), ("NSDictionary", ["NS.objects": ["a"]]),
      ("NSArray", ["NS.objects": ["a"], "NS.object.0": "b"]),
      ("NSDictionary", ["NS.keys": ["a"], "NS.objects": [1], "NS.key.0": "b", "NS.object.0": 2]),
    ] as [(String, Plist)])
  func missingElements(_ type: String, _ fields: Plist) throws {
    let error = try #require(throws: ArchiveError.self) { try value(type, fields) }
    #expect(error.code == .damaged)
  }

  @Test("Attributed strings are records with runs")
  func attributedStrings() throws {
    let record = try #require(
      try value(
        "NSAttributedString",
        [
          "NSString": "abc", "NSAttributes": [["size": 1], ["size": 2]],
          "NSAttributeInfo": .data([1, 1, 2, 0]), "other": 1,
        ]
      ).recordValue)
    #expect(record["string"] == "abc")
    #expect(
      record["runs"] == [
        ["location": 0, "length": 1, "attributes": ["size": 2]],
        ["location": 1, "length": 2, "attributes": ["size": 1]],
      ])
    #expect(record.keys == ["string", "runs", "other"])
    let plain = try value("NSMutableAttributedString", ["NSString": "é", "NSAttributes": [:]])
    #expect(plain["runs"] == [["location": 0, "length": 1, "attributes": [:]]])
  }

  @Test("Attributes that no run of a string uses are kept") func unusedAttributes() throws {
    let fields: Plist = [
      "NSString": "abc", "NSAttributes": [["size": 1], ["size": 2]], "NSAttributeInfo": .data([3, 0]),
    ]
    let record = try #require(try value("NSAttributedString", fields).recordValue)
    #expect(record.keys == ["NSString", "NSAttributes", "NSAttributeInfo"])
    #expect(record["NSAttributes"] == [["size": 1], ["size": 2]])
  }

  @Test(
    "A changed record that its class cannot represent loses nothing",
    arguments: [
      ("NSAttributedString", ["string": "ab", "runs": [["location": 0, "length": 2, "attributes": [:], "more": 1]]]),
      ("NSIndexSet", ["ranges": [["location": 1, "length": 2, "more": 1]]]),
      ("NSValue", ["point": ["x": 1.0, "y": 2.0], "size": ["width": 1.0, "height": 2.0]]),
      ("NSValue", ["point": ["x": 1.0, "y": 2.0], "range": "none"]),
      ("NSValue", ["size": ["width": 1.0, "height": 2.0, "depth": 3.0]]),
      ("NSValue", ["range": ["location": 1, "length": 2, "more": 3]]),
      ("NSValue", ["range": ["location": "1", "length": 2]]),
    ] as [(String, ArchiveObject)])
  func changed(_ type: String, _ fields: ArchiveObject) throws {
    let record = ModelRecord(typeName: type, modelVersion: nil, object: fields)
    let graph = ObjectGraph(objects: [.record(record)], root: .reference(0))
    #expect(try KeyedArchive(KeyedArchive(graph).data()).graph == graph)
  }

  @Test("Runs of an attributed string keep their attributes bit by bit") func spellings() throws {
    let attributes: [ArchiveValue] = [["a": "\u{E9}"], ["a": "e\u{301}"], ["a": 0.0], ["a": -0.0], ["a": 0.0]]
    let runs = attributes.enumerated().map { place, attributes in
      ["location": .int(Int64(place)), "length": 1, "attributes": attributes] as ArchiveValue
    }
    let record = ModelRecord(
      typeName: "NSAttributedString", modelVersion: nil, fields: [("string", "abcde"), ("runs", .array(runs))])
    let graph = ObjectGraph(objects: [.record(record)], root: .reference(0))
    let again = try KeyedArchive(KeyedArchive(graph).data()).graph
    // `==` does not distinguish these values, so their descriptions and bytes are compared.
    #expect("\(again.objects)" == "\(graph.objects)")
    #expect(try ArchiveEncoder().encodeBody(again.objects[0]) == ArchiveEncoder().encodeBody(graph.objects[0]))
  }

  @Test(
    "Other classes become records with readable field names",
    arguments: [
      (
        "NSIndexSet", ["NSRangeCount": 1, "NSLocation": 3, "NSLength": 2], "ranges",
        [["location": 3, "length": 2]]
      ),
      (
        "NSMutableIndexSet", ["NSRangeCount": 2, "NSRangeData": .data([1, 1, 0xAC, 2, 5])], "ranges",
        [["location": 1, "length": 1], ["location": 300, "length": 5]]
      ),
      ("NSIndexSet", ["NSRangeCount": 2, "NSRangeData": .data([1, 1, 0xAC, 2, 5, 0x80])], "ranges", .null),
      (
        "NSIndexSet",
        ["NSRangeCount": 1, "NSRangeData": .data([0xCD] + [UInt8](repeating: 0xFF, count: 7) + [0x7F, 0x32])],
        "ranges", [["location": .int(.max - 50), "length": 50]]
      ),
      ("NSIndexSet", ["NSRangeCount": 0], "ranges", []),
      ("NSMeasurement", ["NS.value": 5.0], "value", 5.0),
      ("NSValue", ["NS.special": 1, "NS.pointval": "{1, -2.5}"], "point", ["x": 1.0, "y": -2.5]),
      ("NSValue", ["NS.rectval": "{{1, 2}, {3, 4}}"], "rect", ["x": 1.0, "y": 2.0, "width": 3.0, "height": 4.0]),
      ("NSValue", ["NS.rangeval.location": 1, "NS.rangeval.length": 2], "range", ["location": 1, "length": 2]),
      ("NSTimeZone", ["NS.name": "Europe/Zurich", "NS.data": .data([])], "name", "Europe/Zurich"),
      ("NSLocale", ["NS.identifier": "de_CH"], "identifier", "de_CH"),
      ("NSError", ["NSCode": 4, "NSDomain": "D", "NSUserInfo": .uid(0)], "code", 4),
      ("UIColor", ["UIRed": 0.5], "red", 0.5),
      ("NSFont", ["NSName": "Helvetica"], "name", "Helvetica"),
    ] as [(String, Plist, String, ArchiveValue)])
  func records(_ type: String, _ fields: Plist, _ key: String, _ expected: ArchiveValue) {
    do {
      let record = try value(type, fields).recordValue
      #expect(record?.typeName == type)
      #expect(record?[key] == expected)
    } catch {
      #expect(expected == .null)
      #expect((error as? ArchiveError)?.code == .damaged)
    }
  }

  @Test(
    "Damaged Foundation values throw",
    arguments: [
      ("NSString", ["NS.string": 1]), ("NSString", ["NS.bytes": .data([0xFF])]), ("NSDate", ["NS.time": "now"]),
      ("NSData", ["NS.data": "data"]), ("NSNumber", ["NS.intval": "5"]), ("NSUUID", ["NS.uuidbytes": .data([1])]),
      ("NSURL", ["NS.relative": "b", "NS.base": 1]), ("NSArray", ["NS.objects": "a"]),
      ("NSArray", ["NS.object.1": "b"]), ("NSDictionary", ["NS.keys": ["a"], "NS.objects": []]),
      ("NSDictionary", ["NS.keys": ["a"]]), ("NSCountedSet", ["NS.count": 99]), ("NSCountedSet", ["NS.count": -1]),
      ("NSDecimalNumber", ["NS.mantissa": .data([1]), "NS.length": 8, "NS.negative": false]),
      ("NSDecimalNumber", ["NS.mantissa": .data([1]), "NS.length": -8, "NS.negative": false]),
      ("NSValue", ["NS.pointval": "{1}"]), ("NSValue", ["NS.pointval": "{a, b}"]),
      ("NSIndexSet", ["NSRangeCount": 1, "NSRangeData": .data([UInt8](repeating: 0xFF, count: 40))]),
      ("NSAttributedString", ["NSString": "a", "NSAttributes": [], "NSAttributeInfo": .data([1, 0])]),
    ] as [(String, Plist)])
  func damage(_ type: String, _ fields: Plist) {
    #expect(archiveError { _ = try value(type, fields) }?.code == .damaged)
  }
}
