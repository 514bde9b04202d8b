import Foundation
import StrataCore
import StrataLegacy
import Testing

extension NSCoder {
  // On Linux, decoding a missing key is an error, so these methods check for the key first.
  fileprivate func object<T: NSObject & NSCoding>(_ type: T.Type, _ key: String) -> T? {
    containsValue(forKey: key) ? decodeObject(of: type, forKey: key) : nil
  }

  fileprivate func object(_ types: [AnyClass], _ key: String) -> Any? {
    containsValue(forKey: key) ? decodeObject(of: types, forKey: key) : nil
  }
}

/// A class of an old program with handwritten coding.
final class OldUser: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  var name: String?
  var count = 0
  var score = 0.0
  var isAdmin = false
  var born: Date?
  var tags: [String] = []
  var friend: OldUser?
  var version: Int?

  init?(coder: NSCoder) {
    super.init()
    name = coder.object(NSString.self, "name") as String?
    count = coder.decodeInteger(forKey: "count")
    score = coder.decodeDouble(forKey: "score")
    isAdmin = coder.decodeBool(forKey: "isAdmin")
    born = coder.object(NSDate.self, "born") as Date?
    tags = coder.object([NSArray.self, NSString.self], "tags") as? [String] ?? []
    friend = coder.object(OldUser.self, "friend")
  }

  func encode(with coder: NSCoder) {
    coder.encode(name as NSString?, forKey: "name")
    coder.encode(count, forKey: "count")
    coder.encode(score, forKey: "score")
    coder.encode(isAdmin, forKey: "isAdmin")
    coder.encode(born as NSDate?, forKey: "born")
    coder.encode(tags as NSArray, forKey: "tags")
    coder.encode(friend, forKey: "friend")
  }

  override init() { super.init() }
}

/// A class that archives itself in Mantle's form, with every property as an object.
final class OldModel: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  var version: Int?
  var name: String?
  var count: Int?
  var nested: String?
  var isAdmin: Bool?
  var score: Double?
  var members: [OldModel]?
  var lead: OldModel?

  init?(coder: NSCoder) {
    version = coder.object(NSNumber.self, "MTLModelVersion")?.intValue
    name = coder.object(NSString.self, "name") as String?
    count = coder.object(NSNumber.self, "count")?.intValue
    nested = coder.object(NSString.self, "nestedName") as String?
    isAdmin = coder.object(NSNumber.self, "isAdmin")?.boolValue
    score = coder.object(NSNumber.self, "score")?.doubleValue
    members = coder.object([NSArray.self, OldModel.self], "members") as? [OldModel]
    lead = coder.object(OldModel.self, "lead")
  }

  func encode(with coder: NSCoder) {}
}

/// Opens the library's keyed archives with Foundation's unarchiver.
@Suite("Foundation unarchives written archives")
struct FoundationUnarchivingTests {
  private static func open(
    _ data: Data, _ classes: [AnyClass], names: [String: AnyClass] = [:], key: String = NSKeyedArchiveRootObjectKey
  ) throws -> Any? {
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
    unarchiver.requiresSecureCoding = true
    for entry in names { unarchiver.setClass(entry.value, forClassName: entry.key) }
    unarchiver.decodingFailurePolicy = .setErrorAndReturn
    defer { unarchiver.finishDecoding() }
    let object = unarchiver.decodeObject(of: classes, forKey: key)
    if let error = unarchiver.error { throw error }
    return object
  }

  private static func samples() throws -> [(ArchiveValue, NSObject)] {
    let uuid = UUID(), url = try #require(URL(string: "https://example.com/a/"))
    let relative = try #require(URL(string: "b?c", relativeTo: url))
    let same = try #require(NSURL(string: "b?c", relativeTo: url))
    let date = Date(timeIntervalSinceReferenceDate: 12.5)
    return [
      ("text", "text" as NSString), ("$null", "$null" as NSString), ("é 😀", "é 😀" as NSString), (5, 5 as NSNumber),
      (-1, -1 as NSNumber),
      (.int(.max), Int64.max as NSNumber), (1.5, 1.5 as NSNumber), (true, true as NSNumber),
      (.data(Data([1, 2])), Data([1, 2]) as NSData), (.date(date), date as NSDate), (.uuid(uuid), uuid as NSUUID),
      (.url(url), url as NSURL), (.url(relative), same),
      ([1, "a", [2.5]], [1, "a", [2.5]] as NSArray), ([], [] as NSArray), ([.null], [NSNull()] as NSArray),
      (["a": 1, "b": ["c": .null]], ["a": 1, "b": ["c": NSNull()]] as NSDictionary), ([:], [:] as NSDictionary),
      (
        .map([.init(key: 1, value: "a"), .init(key: "b", value: 2)]),
        NSDictionary(objects: ["a", 2], forKeys: [1 as NSNumber, "b" as NSString])
      ), (.set([1, "a"]), NSSet(array: [1, "a"])), (.set([]), NSSet()),
    ]
  }

  @Test("NSKeyedUnarchiver opens values with secure coding")
  func values() throws {
    let classes: [AnyClass] = [
      NSString.self, NSNumber.self, NSData.self, NSDate.self, NSUUID.self, NSURL.self, NSArray.self, NSDictionary.self,
      NSSet.self, NSNull.self,
    ]
    var options = KeyedWriting()
    for (value, expected) in try Self.samples() {
      for isMutable in [false, true] {
        options.usesMutableCollections = isMutable
        let data = try KeyedArchive(ObjectGraph(objects: [], root: value)).data(options)
        let found = try Self.open(data, classes) as? NSObject
        #expect(found?.isEqual(expected) == true, "\(expected): \(String(describing: found))")
      }
    }
  }

  @Test("A Foundation archive that is decoded, changed and encoded is opened by its class")
  func handBack() throws {
    let ada = OldUser(), bob = OldUser()
    (ada.name, ada.count, ada.score, ada.isAdmin, ada.tags) = ("Ada", 7, 1.5, true, ["a", "b"])
    ada.born = Date(timeIntervalSinceReferenceDate: 1)
    (ada.friend, bob.name) = (bob, "Bob")
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.setClassName("App.User", for: OldUser.self)
    archiver.encode(ada, forKey: NSKeyedArchiveRootObjectKey)
    archiver.finishEncoding()
    var archive = try KeyedArchive(archiver.encodedData)
    guard case .reference(let number) = archive.graph.root, case .record(var record) = archive.graph.objects[number]
    else { throw CancellationError() }
    #expect(record["count"] == 7)
    record["count"] = 8
    record["tags"] = ["c"]
    archive.graph.objects[number] = .record(record)
    let found = try #require(
      try Self.open(archive.data(), [OldUser.self], names: ["App.User": OldUser.self]) as? OldUser)
    #expect(found.name == "Ada" && found.count == 8 && found.score == 1.5 && found.isAdmin && found.tags == ["c"])
    #expect(found.born == ada.born && found.friend?.name == "Bob" && found.friend?.count == 0)
  }

  @Test("Models are opened by classes that use Mantle's coding")
  func models() throws {
    var user = LegacyUser(name: "Ada", count: 5, nestedName: "left out")
    user.score = 2.5
    let team = LegacyTeam(lead: user, members: [user, LegacyUser(name: nil)])
    let data = try ArchiveEncoder().encodeKeyed(team)
    let found = try #require(
      try Self.open(data, [OldModel.self], names: ["Team": OldModel.self, "MTLTestModel": OldModel.self]) as? OldModel)
    #expect(found.version == 3 && found.members?.count == 2)
    let first = try #require(found.lead)
    #expect(first.name == "Ada" && first.count == 5 && first.isAdmin == false && first.score == 2.5)
    #expect(first.version == 1 && first.nested == nil)
    #expect(found.members?.last?.name == nil && found.members?.last?.version == 1)
  }

  @Test("Numbers encoded in place are read by decodeInteger(forKey:)")
  func numbersInPlace() throws {
    var options = KeyedWriting()
    options.numbers = .inPlace
    options.classes["LegacyUser"] = ["GHUser", "NSObject"]
    let user = LegacyUser(name: "Ada", count: 5, isAdmin: true, score: 0.5)
    let data = try ArchiveEncoder().encodeKeyed(user, key: "user", options: options)
    let found = try #require(
      try Self.open(data, [OldUser.self], names: ["GHUser": OldUser.self], key: "user") as? OldUser)
    #expect(found.name == "Ada" && found.count == 5 && found.isAdmin && found.score == 0.5)
  }
}
