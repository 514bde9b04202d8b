import Foundation
import Strata
import Testing

@Suite("Absent keys are never changed")
struct PresenceTests {
  private let bern = PostalAddress(city: "Bern", zip: "3000", lines: ["a": "1", "b": "2"], isChecked: true)

  private func json(_ text: String) -> Data { Data(text.utf8) }

  private var house: Household {
    Household(
      title: "t", address: bern, owner: Contact(1, "Ada", mail: "ada@x", note: "n", address: bern),
      byName: ["ada": Contact(1, "Ada", mail: "ada@x", note: "n")], byNumber: [7: bern],
      members: [Contact(1, "Ada", mail: "ada@x", note: "n"), Contact(2, "Bob", mail: "bob@x", note: "m")],
      guests: [Contact(3, "Cid", mail: "cid@x", note: "g")], parcel: .box(weight: 1, note: "p", to: bern))
  }

  @Test("MG-9: merging partial nested models keeps absent keys, with and without a base", arguments: [false, true])
  func nested(knowsBase: Bool) throws {
    var local = house
    let base = knowsBase ? house : nil
    local.address?.zip = "mine"
    let report = try local.merge(
      .json(json(#"{"address": {"city": "Thun"}, "owner": {"name": "Ada B."}}"#)), base: base)
    #expect(local.address == PostalAddress(city: "Thun", zip: "mine", lines: ["a": "1", "b": "2"], isChecked: true))
    #expect(local.owner == Contact(1, "Ada B.", mail: "ada@x", note: "n", address: bern))
    #expect(report.entries.map(\.path.description).sorted() == ["address.city", "owner.name"])
  }

  @Test("MG-9: merging partial elements and dictionary values keeps absent keys", arguments: [false, true])
  func collections(knowsBase: Bool) throws {
    var local = house
    let base = knowsBase ? house : nil
    try local.merge(
      .json(
        json(
          #"""
          {"members": [{"id": 2, "name": "Bert"}, {"id": 1}], "guests": [{"id": 3, "mail": null}],
           "byName": {"ada": {"mail": "new"}}, "byNumber": {"7": {"zip": null}}}
          """#)), base: base)
    #expect(
      local.members == [Contact(2, "Bert", mail: "bob@x", note: "m"), Contact(1, "Ada", mail: "ada@x", note: "n")])
    #expect(local.guests == [Contact(3, "Cid", mail: nil, note: "g")])
    #expect(local.byName["ada"] == Contact(1, "Ada", mail: "new", note: "n"))
    #expect(local.byNumber[7] == PostalAddress(city: "Bern", lines: ["a": "1", "b": "2"], isChecked: true))
    // A new element gets defaults. A new element without its required keys is an error.
    try local.merge(.json(json(#"{"members": [{"id": 9, "name": "New"}]}"#)), base: nil)
    #expect(local.members.first { $0.id == 9 } == Contact(9, "New"))
    let before = local
    let error = #expect(throws: ArchiveError.self) {
      try local.merge(.json(json(#"{"members": [{"id": 10}]}"#)), base: nil)
    }
    #expect(error?.description.contains("members[0].name") ?? false, "\(error as Any)")
    #expect(local == before)
  }

  @Test("MG-9: merging partial associated values of an enum case keeps absent values", arguments: [false, true])
  func cases(knowsBase: Bool) throws {
    var local = house
    let base = knowsBase ? house : nil
    try local.merge(.json(json(#"{"parcel": {"box": {"weight": 2, "to": {"city": "Thun"}}}}"#)), base: base)
    var thun = bern
    thun.city = "Thun"
    #expect(local.parcel == .box(weight: 2, note: "p", to: thun))
    try local.merge(.json(json(#"{"parcel": {"box": {"note": null}}}"#)), base: nil)
    #expect(local.parcel == .box(weight: 2, note: nil, to: thun))
    // A different case replaces the local case, unless the local case was edited.
    var fresh = Household()
    try fresh.mergeValues(fromJSON: json(#"{"parcel": {"box": {"weight": 4}}}"#))
    #expect(fresh.parcel == .box(weight: 4, note: nil, to: nil))
    local.parcel = .letter
    let report = try local.mergeValues(fromJSON: json(#"{"parcel": {"box": {"weight": 4}}}"#))
    #expect(local.parcel == .letter && report.conflicts.map(\.path.description) == ["parcel"])
  }

  @Test("MG-9: merging lists of models does not reset fields that JSON does not contain")
  func lists() throws {
    var mine = house.members
    let fresh = [try Contact(fromJSON: json(#"{"id": 1, "name": "Ada B."}"#)), Contact(2, "Bob", mail: "bob@x")]
    try mine.mergeValues(from: fresh, by: "id")
    #expect(mine == [Contact(1, "Ada B.", note: "n"), Contact(2, "Bob", mail: "bob@x", note: "m")])
    try mine.merge(.json(json(#"[{"id": 2, "name": "Bert"}, {"id": 1, "mail": "a"}]"#)), by: "id")
    #expect(mine == [Contact(2, "Bert", mail: "bob@x", note: "m"), Contact(1, "Ada B.", mail: "a", note: "n")])
  }

  @Test(
    "MG-10: null removes a value at any depth, also with a known base, and updates the base", arguments: [false, true])
  func null(_ isPatch: Bool) throws {
    let whole = #"{"title": "t", "address": {"city": "Bern", "zip": "3000", "lines": {"a": "1", "b": "2"}}}"#
    var local = try Household(fromJSON: json(whole))
    local.address?.city = "mine"
    if isPatch {
      try local.merge(
        .patch(
          JSONPatch(
            parsing: json(#"[{"op": "remove", "path": "/address/zip"}, {"op": "remove", "path": "/address/lines/a"}]"#))
        ))
    } else {
      try local.merge(.mergePatch(json(#"{"address": {"zip": null, "lines": {"a": null}}}"#)))
    }
    #expect(local.address == PostalAddress(city: "mine", zip: nil, lines: ["b": "2"]))
    #expect(local.merging.base?["address"]?["zip"] == .null)
    #expect(local.merging.base?["address"]?["city"] == "Bern")
    // The server's next state agrees, so the merge changes nothing.
    let report = try local.mergeValues(
      fromJSON: json(#"{"address": {"city": "Bern", "zip": null, "lines": {"b": "2"}}}"#))
    #expect(report.isEmpty && report.conflicts.isEmpty && local.address?.zip == nil && local.address?.city == "mine")
  }

  @Test("MG-11: a different identity replaces the whole object and keeps no old values", arguments: [false, true])
  func identity(knowsBase: Bool) throws {
    var local = house
    try local.merge(.json(json(#"{"owner": {"id": 2, "name": "Bob"}}"#)), base: knowsBase ? house : nil)
    #expect(local.owner == Contact(2, "Bob"))
    var edited = house
    edited.owner?.mail = "edited"
    let report = try edited.merge(.json(json(#"{"owner": {"id": 2, "name": "Bob"}}"#)), base: house)
    #expect(edited.owner?.mail == "edited" && report.conflicts.map(\.path.description) == ["owner"])
  }

  @Test("MG-14: the target's policies apply, whatever the type of the source")
  func otherType() throws {
    var local = house
    local.nick = "mine"
    let source = HouseholdSummary(
      title: "new", nick: "theirs", owner: ContactSummary(id: 1, name: "Ada B."), parcel: nil)
    try local.merge(.model(HouseholdSummary(title: "new", nick: "theirs", owner: source.owner, parcel: .letter)))
    #expect(local.title == "new" && local.nick == "mine" && local.parcel == .letter)
    #expect(local.owner == Contact(1, "Ada B.", mail: "ada@x", note: "n", address: bern))
    try local.merge(
      .model(HouseholdSummary(title: "new", nick: "", owner: ContactSummary(id: 5, name: "E"), parcel: .letter)))
    #expect(local.owner == Contact(5, "E"))
  }

  @Test("MG-15: local values never become part of the base")
  func firstPart() throws {
    var local = Household(title: "mine", nick: "mine", motto: "mine")
    try local.mergeValues(fromJSON: json(#"{"title": "server"}"#))
    #expect(local.title == "server")
    let report = try local.mergeValues(fromJSON: json(#"{"title": "server", "nick": "s", "motto": "s"}"#))
    #expect(local.nick == "mine" && local.motto == "mine")
    #expect(report.conflicts.map(\.path.description) == ["motto"])
  }

  @Test("MG-18: the server's unknown fields at the root are merged and reported")
  func unknown() throws {
    func record(_ title: String, _ later: ArchiveValue?) throws -> Household {
      var fields: [(key: String, value: ArchiveValue)] = [("title", .string(title))]
      if let later { fields.append(("later", later)) }
      return try ArchiveDecoder().decode(
        Household.self,
        from: ArchiveEncoder().encode(ModelRecord(typeName: "Household", modelVersion: 1, fields: fields)))
    }
    var local = try record("a", 1)
    let report = try local.mergeValues(from: record("b", 2))
    #expect(local.unknownFields["later"] == 2)
    #expect(report.entries.map(\.path.description).contains("later"))
    var edited = try record("a", 5)
    try edited.merge(.model(record("a", 1)), base: record("a", 1))
    #expect(edited.unknownFields["later"] == 5)
  }

  @Test("A remembered base contains the fields that archives exclude, but an archive does not")
  func excluded() throws {
    var local = try Household(fromJSON: json(#"{"title": "a"}"#))
    var server = local
    server.cache = "server's"
    #expect(try local.mergeValues(from: server).conflicts.isEmpty && local.cache == "server's")
    server.cache = ""
    try local.mergeValues(from: server)
    #expect(local.cache == "")
    var edited = local
    edited.cache = "full"
    server.cache = "server's"
    let report = try edited.mergeValues(from: server)
    #expect(report.conflicts.map(\.path.description) == ["cache"] && edited.cache == "full")
    #expect(edited.mergeConflicts.map(\.path.description) == ["cache"])
    // The archive contains no value of the excluded field, neither in the base nor in a conflict.
    let data = try ArchiveEncoder(compression: .none).encode(edited)
    #expect(data.range(of: Data("server's".utf8)) == nil && data.range(of: Data("full".utf8)) == nil)
    var archived = try ArchiveDecoder().decode(Household.self, from: data)
    #expect(archived.cache == "" && archived.mergeConflicts.isEmpty)
    #expect(try archived.mergeValues(from: server).conflicts.isEmpty && archived.cache == "server's")
  }

  @Test("An unchanged NaN in an array does not count as a difference")
  func notANumber() throws {
    var base = house
    base.ratios = [1, .nan]
    var local = base
    local.title = "mine"
    var server = base
    server.title = "t"
    let report = try local.merge(.model(server), base: base)
    #expect(report.conflicts.isEmpty && report.entries.map(\.path.description) == ["title"])
    server.ratios = [2, .nan]
    try local.merge(.model(server), base: base)
    #expect(local.ratios[0] == 2)
  }

  @Test("Merging an enum at the root handles another case, a conflict and partial associated values")
  func rootCase() throws {
    var local = Shipment.letter
    try local.mergeValues(from: .box(weight: 1, note: nil, to: nil))
    #expect(local == .box(weight: 1, note: nil, to: nil))
    let report = try local.merge(.model(Shipment.letter), base: .box(weight: 3, note: nil, to: nil))
    #expect(local == .box(weight: 1, note: nil, to: nil) && report.conflicts.count == 1)
    try local.mergeValues(fromJSON: json(#"{"box": {"note": "n"}}"#))
    #expect(local == .box(weight: 1, note: "n", to: nil))
  }

  @Test("Resolving a conflict with the local value keeps the current local value")
  func resolvingLocal() throws {
    var local = try Household(fromJSON: json(#"{"title": "a"}"#))
    local.title = "mine"
    try local.mergeValues(fromJSON: json(#"{"title": "theirs"}"#))
    local.title = "edited again"
    try local.resolve(#require(local.mergeConflicts.first), with: .local)
    #expect(local.title == "edited again" && local.mergeConflicts.isEmpty)
  }
}
