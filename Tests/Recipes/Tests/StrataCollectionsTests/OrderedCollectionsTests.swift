import DequeModule
import Foundation
import OrderedCollections
import Strata
import StrataCollections
import Testing

@Suite("Ordered collections as properties")
struct OrderedCollectionsTests {
  private static let seeds: [UInt64] = [1, 2, 3, 4, 5, 6, 7, 8, UInt64.random(in: 100...UInt64(UInt32.max))]

  @Test("Round trips through all formats keep the order, and archives keep their bytes", arguments: seeds)
  func roundTrips(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<50 {
      let menu = Menu.random(using: &generator)
      let archive = try ArchiveEncoder().encode(menu)
      let opened = try ArchiveDecoder().decode(Menu.self, from: archive)
      #expect(opened == menu, "seed \(seed)")
      #expect(try ArchiveEncoder().encode(opened) == archive, "seed \(seed)")
      #expect(try Menu(fromJSON: menu.jsonData()) == menu, "seed \(seed)")
      #expect(try Menu(fromJSON: JSONReader().read(menu.jsonData())) == menu, "seed \(seed)")
      #expect(try menu.copy() == menu, "seed \(seed)")
      #expect(try Menu(dictionary: menu.dictionaryValue) == menu, "seed \(seed)")
      #expect(try ArchiveUpgrader(Menu.self).upgrade(archive) == archive, "seed \(seed)")
      // A tool can decode the archive without the model types and encode the value again.
      let value = try ArchiveDecoder().decodeValue(from: archive)
      #expect(try ArchiveDecoder().decode(Menu.self, from: ArchiveEncoder().encode(value)) == menu, "seed \(seed)")
      var merged = Menu()
      try merged.mergeValues(from: menu)
      #expect(merged == menu, "seed \(seed)")
    }
  }

  @Test("Ordered collections are encoded as objects, pairs and arrays in their order")
  func bytes() throws {
    let menu = Menu(
      prices: ["b": 1, "a": 2], byDay: [:], byNumber: [2: "x", 1: "y"], tags: ["z", "a"], dishes: [], optional: nil,
      nested: [])
    let body = try ArchiveEncoder().encodeBody([menu.prices])
    #expect([UInt8](body).suffix(7) == [0xA2, 0x61, 0x62, 0x01, 0x61, 0x61, 0x02])
    let pairs = try ArchiveEncoder().encodeBody([menu.byNumber])
    #expect([UInt8](pairs).suffix(9) == [0x82, 0x82, 0x02, 0x61, 0x78, 0x82, 0x01, 0x61, 0x79])
    let tags = try ArchiveEncoder().encodeBody([menu.tags])
    #expect([UInt8](tags).suffix(5) == [0x82, 0x61, 0x7A, 0x61, 0x61])
  }

  @Test("Archived standard collections decode as ordered ones, and string-keyed ordered dictionaries as dictionaries")
  func upgrade() throws {
    let dish = Dish(id: 1)
    let old = OldMenu(
      prices: ["b": 1, "a": 2], byDay: [.tuesday: dish], byNumber: [3: "c", 1: "a"], tags: ["y", "x"], dishes: [dish])
    let menu = try ArchiveDecoder().decode(Menu.self, from: ArchiveEncoder().encode(old))
    #expect(Dictionary(uniqueKeysWithValues: menu.prices.map { ($0, $1) }) == old.prices)
    #expect(menu.byDay == [.tuesday: dish] && menu.byNumber == [1: "a", 3: "c"])
    #expect(Set(menu.tags) == old.tags && menu.dishes == [dish])
    let again = try ArchiveEncoder().encode([menu.prices])
    #expect(try ArchiveDecoder().decode([[String: Int]].self, from: again) == [old.prices])
  }

  @Test("JSON keeps the order of keys, supports number keys and rejects duplicate keys")
  func json() throws {
    let text = #"{"prices":{"b":1,"a":2},"byNumber":{"2":"x","1":"y"},"tags":["z","a","z"]}"#
    let menu = try Menu(fromJSON: Data(text.utf8))
    #expect(menu.prices == ["b": 1, "a": 2] && menu.byNumber == [2: "x", 1: "y"] && menu.tags == ["z", "a"])
    let written = try String(decoding: menu.jsonData(), as: UTF8.self)
    #expect(written.contains(#""prices":{"b":1,"a":2}"#) && written.contains(#""byNumber":[[2,"x"],[1,"y"]]"#))
    let error = #expect(throws: ArchiveError.self) { try Menu(fromJSON: Data(#"{"prices":{"b":1,"b":2}}"#.utf8)) }
    #expect(error?.code == .invalidJSON)
  }

  @Test(
    "Decoding an archive with duplicate keys, duplicate elements or values of the wrong type throws",
    arguments: [
      ("byNumber", [[1, "a"], [1, "b"]]), ("byNumber", [[1, "a"], [2]]), ("byNumber", [1]), ("prices", [["a", 1]]),
      ("prices", 7), ("tags", ["a", "a"]), ("tags", ["a": 1]), ("tags", [1]), ("byDay", ["sunday": .null]),
    ] as [(String, ArchiveValue)])
  func hostile(key: String, value: ArchiveValue) throws {
    let record = ModelRecord(typeName: "Menu", modelVersion: 2, fields: [(key, value)])
    let error = #expect(throws: ArchiveError.self) {
      try ArchiveDecoder().decode(Menu.self, from: ArchiveEncoder().encode(record))
    }
    #expect(error?.codingPath.first == .key(key))
  }

  /// Returns the expected result of a merge of pairs with a base. If only one side changed a value, the result contains this change.
  /// If both sides changed it, the result contains the local change. The local keys precede new keys of the server.
  private static func merged(
    _ base: [(String, Int)], _ local: [(String, Int)], _ server: [(String, Int)]
  ) -> [(String, Int)] {
    func value(_ pairs: [(String, Int)], _ key: String) -> Int? { pairs.first { $0.0 == key }?.1 }
    var keys = local.map(\.0)
    for (key, _) in server where !keys.contains(key) { keys.append(key) }
    return keys.compactMap { key in
      let (old, own, other) = (value(base, key), value(local, key), value(server, key))
      return (own == old ? other : own).map { (key, $0) }
    }
  }

  @Test("A three-way merge of an ordered dictionary works key by key and keeps the local order", arguments: seeds)
  func merges(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    func pairs() -> [(String, Int)] {
      ["a", "b", "c", "d"].shuffled(using: &generator).prefix(Int.random(in: 0...4, using: &generator))
        .map { ($0, Int.random(in: 0...1, using: &generator)) }
    }
    for _ in 0..<500 {
      let (base, local, server) = (pairs(), pairs(), pairs())
      func menu(_ pairs: [(String, Int)]) -> Menu { Menu(prices: OrderedDictionary(uniqueKeysWithValues: pairs)) }
      var mine = menu(local)
      try mine.merge(.model(menu(server)), base: menu(base))
      let expected = Self.merged(base, local, server)
      #expect(mine == menu(expected), "seed \(seed): \(base) \(local) \(server)")
    }
  }

  @Test("Deques are merged like arrays, and ordered dictionaries with number keys key by key")
  func kitchens() throws {
    let kitchen = Kitchen(
      queue: [Dish(id: 1, name: "a", price: 3), Dish(id: 2, name: "b")],
      shelves: [7: Dish(id: 4, name: "d", price: 5), 3: Dish(id: 5, name: "e")], plans: [1: [Dish(id: 6, price: 2)]])
    let data = try ArchiveEncoder().encode(kitchen)
    #expect(try ArchiveDecoder().decode(Kitchen.self, from: data) == kitchen)
    #expect(try Kitchen(fromJSON: kitchen.jsonData()) == kitchen)
    var value = kitchen
    let report = try value.mergeValues(
      fromJSON: Data(
        (#"{"queue": [{"id": 2, "price": 9}, {"id": 1, "name": "A"}], "plans": [[1, [{"id": 6, "name": "f"}]]], "#
          + #""shelves": [[3, {"id": 5, "price": 1}], [9, {"id": 8}]]}"#).utf8))
    #expect(value.queue == [Dish(id: 2, name: "b", price: 9), Dish(id: 1, name: "A", price: 3)])
    #expect(
      value.shelves == [7: Dish(id: 4, name: "d", price: 5), 3: Dish(id: 5, name: "e", price: 1), 9: Dish(id: 8)])
    #expect(value.plans == [1: [Dish(id: 6, name: "f", price: 2)]])
    #expect(report.entries.contains { "\($0.path)" == "shelves[3].price" })
    var (local, server) = (kitchen, kitchen)
    local.shelves[7]?.price = 6
    server.shelves[7]?.name = "D"
    server.shelves[3] = nil
    #expect(try local.merge(.model(server), base: kitchen).conflicts.isEmpty)
    #expect(local.shelves == [7: Dish(id: 4, name: "D", price: 6)])
  }

  @Test("A conflict at a number key persists until it is resolved")
  func conflicts() throws {
    func json(_ text: String) -> Data { Data(#"{"notes": [[5, "\#(text)"], [6, "x"]]}"#.utf8) }
    var ledger = try Ledger(fromJSON: json("a"))
    ledger.notes[5] = "mine"
    for _ in 0..<2 {
      try ledger.merge(.json(json("theirs")))
      #expect(ledger.mergeConflicts.count == 1 && ledger.notes[5] == "mine")
    }
    let conflict = try #require(ledger.mergeConflicts.first)
    try ledger.resolve(conflict, with: .server)
    #expect(ledger.notes == [5: "theirs", 6: "x"] && ledger.mergeConflicts.isEmpty)
  }

  @Test("A merge updates models in an ordered dictionary field by field and keeps missing keys")
  func inside() throws {
    var menu = Menu(byDay: [
      .monday: Dish(id: 1, name: "Soup", price: 4), .tuesday: Dish(id: 2, name: "Fish", price: 9),
    ])
    try menu.mergeValues(
      fromJSON: Data(#"{"byDay": {"wednesday": {"id": 3, "name": "Pie"}, "tuesday": {"price": 8}}}"#.utf8))
    // As in every dictionary, entries that the document lacks are kept, and new entries are appended.
    #expect(menu.byDay.keys == [.monday, .tuesday, .wednesday])
    #expect(menu.byDay[.tuesday] == Dish(id: 2, name: "Fish", price: 8))
    #expect(menu.byDay[.wednesday] == Dish(id: 3, name: "Pie"))
  }

  @Test("An ordered set supports skippingInvalid and the addWins policy")
  func skipping() throws {
    let read = try Tagged(fromJSON: Data(#"{"tags": ["b", 1, "a", null, "b"]}"#.utf8))
    #expect(read.tags == ["b", "a"])
    var tagged = Tagged(tags: ["b", "a"])
    try tagged.merge(.model(Tagged(tags: ["c", "a"])), base: Tagged(tags: ["a"]))
    #expect(Set(tagged.tags) == ["a", "b", "c"])
  }
}

@Model(version: 1)
private struct Tagged: Equatable {
  @Field(merge: .addWins, json: .path("tags").skippingInvalid) var tags: OrderedSet<String> = []
}
