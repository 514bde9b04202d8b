import StrataCore

/// Random records of the models that are upgraded: of every version, with former keys and cases, and with mistakes.
struct RecordRandom {
  private var random: MergeRandom
  /// Whether every value can be read: what a base cannot be read from stays in it.
  private var isRight = false

  init(seed: UInt64) { random = MergeRandom(seed: seed) }

  private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }
  private mutating func pick<T>(_ values: [T]) -> T { values[Int.random(in: 0..<values.count, using: &random)] }

  private mutating func mistake() -> Value { pick([.null, true, -1, 0.5, "?", [], ["x": 1], .set([1])]) }

  private mutating func value(_ values: [Value]) -> Value { !isRight && chance(60) ? mistake() : pick(values) }

  private mutating func record(
    _ names: [String], _ versions: ClosedRange<Int>, _ fields: [(String, Value)], always: String
  ) -> Record {
    var present: [(key: String, value: Value)] = []
    for (key, value) in fields where !chance(3) || (key == always && !chance(30)) { present.append((key, value)) }
    let version =
      isRight || !chance(25)
      ? !isRight && chance(50) ? versions.upperBound + 1 : Int.random(in: versions, using: &random) : nil
    return Record(typeName: !isRight && chance(80) ? "Other" : pick(names), modelVersion: version, fields: present)
  }

  private mutating func channel() -> Value {
    value(["mail", "chat", "e-mail", "e-mail"] + (!isRight && chance(20) ? ["?"] : []))
  }
  private mutating func priority() -> Value { value([1, 9, -1, 77]) }

  private mutating func payment(_ depth: Int) -> Value {
    let cases: [(String, [(String, Value)])] = [
      ("cash", []), ("card", [("number", "1"), ("expiry", .null)]), ("creditCard", [("number", "2")]),
      ("ship", [("_0", .record(Record(typeName: "Address", modelVersion: 1, fields: [("street", "s")])))]),
      ("gift", []),
    ]
    var (name, payload) = !isRight && chance(20) ? cases[4] : pick(Array(cases[..<4]))
    if depth < 2, chance(4) {
      (name, payload) = ("split", [("_0", self.payment(depth + 1)), ("_1", self.payment(depth + 1))])
    }
    let object = Object(payload.map { .init(key: $0.0, value: $0.1) })
    return .record(Record(typeName: "Payment", modelVersion: pick([1, 2]), fields: [(name, .object(object))]))
  }

  mutating func ware(_ depth: Int = 0, isBase: Bool = false) -> Record {
    var fields: [(String, Value)] = [
      ("title", value(["a", "b"])), ("caption", "former"), ("label", "older"), ("gone", 1), ("channel", channel()),
      ("priority", priority()), ("state", value(["open", "closed", "lost"])),
      ("note", value([.null, "n", isRight ? "m" : 5])),
      ("prices", .object(Object([.init(key: "x", value: channel()), .init(key: "y", value: channel())]))),
      ("byChannel", .map([.init(key: channel(), value: priority())])),
      ("payment", chance(2) ? .null : payment(0)),
    ]
    let first = channel()
    fields.append(("channels", .set(chance(2) ? [first] : [first, first == "chat" ? "mail" : "chat"])))
    if !isBase, chance(6) { fields.append(("secret", value(["kept", "s"]))) }
    if depth < 2, chance(3) {
      fields.append(("parts", .array((0..<2).map { _ in .record(ware(depth + 1, isBase: isBase)) })))
    }
    if !isBase, chance(3) {
      isRight = true
      defer { isRight = false }
      let conflict = Object([
        .init(key: "path", value: ["channel"]), .init(key: "rule", value: "both changed it"),
        .init(key: "base", value: "chat"), .init(key: "local", value: "e-mail"), .init(key: "server", value: "chat"),
      ])
      fields.append(
        (
          "merging",
          .object(
            Object([
              .init(key: "base", value: .record(ware(depth + 1, isBase: true))),
              .init(key: "conflicts", value: chance(2) ? [] : [.object(conflict)]),
            ]))
        ))
    }
    return record(["Ware", "Ware", "Item"], 1...3, fields, always: "title")
  }

  mutating func shelf() -> Record {
    let wares = Value.array((0..<Int.random(in: 0..<3, using: &random)).map { _ in .record(ware()) })
    return record(
      ["WareShelf"], 0...1, [("id", value([1, 2])), (pick(["wares", "items"]), wares), ("later", mistake())],
      always: "id")
  }

  mutating func parcel() -> Record {
    record(
      ["Parcel"], 0...2,
      [
        ("weight", value([1, 99, 101])), ("grams", value([5, 500])), ("channel", channel()),
        ("text", value(["A", "b"])),
      ],
      always: "weight")
  }

  mutating func graph() -> ObjectGraph {
    let count = Int.random(in: 1...4, using: &random)
    let objects = (0..<count).map { _ -> Value in
      func reference(_ random: inout Self) -> Value {
        random.chance(3) ? .null : .reference(Int.random(in: 0..<count, using: &random.random))
      }
      var fields: [(String, Value)] = [
        (pick(["name", "title"]), value(["d", "e"])), ("channel", channel()), ("next", reference(&self)),
        ("home", reference(&self)), ("shelves", chance(3) ? [.record(shelf())] : []),
      ]
      let isHarbour = chance(2)
      if isHarbour { fields.insert((pick(["ships", "boats"]), [channel()]), at: 0) }
      var record = Record(
        typeName: isHarbour ? "Harbour" : pick(["Depot", "Store"]),
        modelVersion: Int.random(in: 1...(isHarbour ? 3 : 2), using: &random),
        fields: fields.filter { _ in !chance(12) })
      if isHarbour { record.superclasses = [.init(typeName: "Depot", modelVersion: pick([1, 2]))] }
      return .record(record)
    }
    let references = (0..<count).map { Value.reference($0) }
    return ObjectGraph(objects: objects, root: chance(3) ? .array(references) : .reference(0))
  }
}
