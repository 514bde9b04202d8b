import StrataCore
import StrataTestSupport

/// Generates records of the models in the upgrade tests. They have random versions, former keys and cases, and mistakes.
struct RecordRandom: RandomNumberGenerator {
  private var random: SeededRandom
  /// Whether all values are valid. This is needed for bases, because an unreadable base would not be upgraded.
  private var isRight = false

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func next() -> UInt64 { random.next() }

  private mutating func mistake() -> ArchiveValue { oneOf([.null, true, -1, 0.5, "?", [], ["x": 1], .set([1])]) }

  private mutating func value(_ values: [ArchiveValue]) -> ArchiveValue {
    !isRight && isOnce(in: 60) ? mistake() : oneOf(values)
  }

  private mutating func record(
    _ names: [String], _ versions: ClosedRange<Int>, _ fields: [(String, ArchiveValue)], always: String
  ) -> ModelRecord {
    var present: [(key: String, value: ArchiveValue)] = []
    for (key, value) in fields where !isOnce(in: 3) || (key == always && !isOnce(in: 30)) {
      present.append((key, value))
    }
    let version =
      isRight || !isOnce(in: 25)
      ? !isRight && isOnce(in: 50) ? versions.upperBound + 1 : Int.random(in: versions, using: &self) : nil
    return ModelRecord(
      typeName: !isRight && isOnce(in: 80) ? "Other" : oneOf(names), modelVersion: version, fields: present)
  }

  private mutating func channel() -> ArchiveValue {
    value(["mail", "chat", "e-mail", "e-mail"] + (!isRight && isOnce(in: 20) ? ["?"] : []))
  }
  private mutating func priority() -> ArchiveValue { value([1, 9, -1, 77]) }

  private mutating func payment(_ depth: Int) -> ArchiveValue {
    let cases: [(String, [(String, ArchiveValue)])] = [
      ("cash", []), ("card", [("number", "1"), ("expiry", .null)]), ("creditCard", [("number", "2")]),
      ("ship", [("_0", .record(ModelRecord(typeName: "Address", modelVersion: 1, fields: [("street", "s")])))]),
      ("gift", []),
    ]
    var (name, payload) = !isRight && isOnce(in: 20) ? cases[4] : oneOf(Array(cases[..<4]))
    if depth < 2, isOnce(in: 4) {
      (name, payload) = ("split", [("_0", self.payment(depth + 1)), ("_1", self.payment(depth + 1))])
    }
    let object = ArchiveObject(payload.map { .init(key: $0.0, value: $0.1) })
    return .record(ModelRecord(typeName: "Payment", modelVersion: oneOf([1, 2]), fields: [(name, .object(object))]))
  }

  mutating func ware(_ depth: Int = 0, isBase: Bool = false) -> ModelRecord {
    var fields: [(String, ArchiveValue)] = [
      ("title", value(["a", "b"])), ("caption", "former"), ("label", "older"), ("gone", 1), ("channel", channel()),
      ("priority", priority()), ("state", value(["open", "closed", "lost"])),
      ("note", value([.null, "n", isRight ? "m" : 5])),
      ("prices", .object(ArchiveObject([.init(key: "x", value: channel()), .init(key: "y", value: channel())]))),
      ("byChannel", .map([.init(key: channel(), value: priority())])),
      ("payment", isOnce(in: 2) ? .null : payment(0)),
    ]
    let first = channel()
    fields.append(("channels", .set(isOnce(in: 2) ? [first] : [first, first == "chat" ? "mail" : "chat"])))
    if !isBase, isOnce(in: 6) { fields.append(("secret", value(["kept", "s"]))) }
    if depth < 2, isOnce(in: 3) {
      fields.append(("parts", .array((0..<2).map { _ in .record(ware(depth + 1, isBase: isBase)) })))
    }
    if !isBase, isOnce(in: 3) {
      isRight = true
      defer { isRight = false }
      let conflict = ArchiveObject([
        .init(key: "path", value: ["channel"]), .init(key: "rule", value: "both changed it"),
        .init(key: "base", value: "chat"), .init(key: "local", value: "e-mail"), .init(key: "server", value: "chat"),
      ])
      fields.append(
        (
          "merging",
          .object(
            ArchiveObject([
              .init(key: "base", value: .record(ware(depth + 1, isBase: true))),
              .init(key: "conflicts", value: isOnce(in: 2) ? [] : [.object(conflict)]),
            ]))
        ))
    }
    return record(["Ware", "Ware", "Item"], 1...3, fields, always: "title")
  }

  mutating func shelf() -> ModelRecord {
    let wares = ArchiveValue.array((0..<below(3)).map { _ in .record(ware()) })
    return record(
      ["WareShelf"], 0...1, [("id", value([1, 2])), (oneOf(["wares", "items"]), wares), ("later", mistake())],
      always: "id")
  }

  mutating func parcel() -> ModelRecord {
    record(
      ["Parcel"], 0...2,
      [
        ("weight", value([1, 99, 101])), ("grams", value([5, 500])), ("channel", channel()),
        ("text", value(["A", "b"])),
      ],
      always: "weight")
  }

  mutating func graph() -> ObjectGraph {
    let count = Int.random(in: 1...4, using: &self)
    let objects = (0..<count).map { _ -> ArchiveValue in
      func reference(_ random: inout Self) -> ArchiveValue {
        random.isOnce(in: 3) ? .null : .reference(random.below(count))
      }
      var fields: [(String, ArchiveValue)] = [
        (oneOf(["name", "title"]), value(["d", "e"])), ("channel", channel()), ("next", reference(&self)),
        ("home", reference(&self)), ("shelves", isOnce(in: 3) ? [.record(shelf())] : []),
      ]
      let isHarbour = isOnce(in: 2)
      if isHarbour { fields.insert((oneOf(["ships", "boats"]), [channel()]), at: 0) }
      var record = ModelRecord(
        typeName: isHarbour ? "Harbour" : oneOf(["Depot", "Store"]),
        modelVersion: Int.random(in: 1...(isHarbour ? 3 : 2), using: &self),
        fields: fields.filter { _ in !isOnce(in: 12) })
      if isHarbour { record.superclasses = [.init(typeName: "Depot", modelVersion: oneOf([1, 2]))] }
      return .record(record)
    }
    let references = (0..<count).map { ArchiveValue.reference($0) }
    return ObjectGraph(objects: objects, root: isOnce(in: 3) ? .array(references) : .reference(0))
  }
}
