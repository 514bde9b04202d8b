import Foundation
import Strata
import StrataStore

/// The laws of streams, revisions, patches, equality and adapters.
extension Trial {
  mutating func morePaths() {
    streams()
    revisions()
    equality()
    adapters()
    let (one, two) = (sample().plainFields, sample(other: 1).plainFields)
    for (key, type) in H.types {
      guard let here = one[key], let there = two[key] else { continue }
      patches(key, type, here, there)
    }
  }

  /// Checks that values are unchanged, field by field.
  private mutating func compare(_ law: Law, _ before: [H], _ after: [H]) {
    guard before.count == after.count else {
      return add(law, H.kind.name, "\(before.count) values became \(after.count)")
    }
    for (before, after) in zip(before.map(\.plainFields), after.map(\.plainFields)) {
      for (key, type) in H.types {
        add(law, type, before[key] == after[key] ? nil : "\(before[key].shown) became \(after[key].shown)")
      }
    }
  }

  // MARK: Files and revisions

  /// A stream keeps its models in order, even after models are appended and after it is salvaged.
  private mutating func streams() {
    let values = (0..<4).map { sample(isAny: true, other: $0) }
    let folder = FileManager.default.temporaryDirectory.appending(path: "strata-laws-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }  // A folder that remains is harmless.
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let (url, salvaged) = (folder.appending(path: "stream"), folder.appending(path: "salvaged"))
      var writer = try ArchiveStreamWriter<H>(creating: url)
      for value in values.prefix(2) { try writer.append(value) }
      try writer.finish()
      writer = try ArchiveStreamWriter<H>(appendingTo: url, verifying: seed.isMultiple(of: 2))
      for value in values.dropFirst(2) { try writer.append(value) }
      try writer.finish()
      compare(.stream, values, try ArchiveSequence(H.self, from: url).results.map { try $0.get() })
      // A killed writer may leave bytes after the last end member. Only a recovering writer accepts such a file. It cuts these bytes off.
      try (Data(contentsOf: url) + Data(contentsOf: url).prefix(30)).write(to: url)
      if (try? ArchiveStreamWriter<H>(appendingTo: url)) != nil {
        add(.stream, H.kind.name, "took a file without an end")
      }
      writer = try ArchiveStreamWriter<H>(appendingTo: url, recovering: true)
      try writer.append(values[0])
      try writer.finish()
      compare(.stream, values + [values[0]], try ArchiveSequence(H.self, from: url).results.map { try $0.get() })
      let report = try ArchiveSalvage.salvage(url, to: salvaged)
      if !report.isComplete || report.modelCount != 5 { add(.salvage, H.kind.name, "\(report)") }
      compare(.salvage, values + [values[0]], try ArchiveSequence(H.self, from: salvaged).results.map { try $0.get() })
    } catch { add(.stream, H.kind.name, "\(error)") }
  }

  /// Each revision of a key returns the value that was saved.
  private mutating func revisions() {
    let (one, two) = (sample(isAny: true), sample(isAny: true, other: 1))
    let values = [one, two, one, sample(isAny: true, other: 2), two]
    do {
      let store = try SnapshotStore(inMemory: StoreOptions())
      let read = try store.write { transaction in
        let numbers = try values.map { try transaction.save($0, as: "value").number }
        return try numbers.compactMap { try transaction.value(H.self, for: "value", at: .revision($0)) }
      }
      compare(.revisions, values, read)
    } catch { add(.revisions, H.kind.name, "\(error)") }
  }

  // MARK: Equality

  /// Checks that values are equal if, and only if, all their fields are equal, and that equal values have the same hash.
  private mutating func equality() {
    func hash(_ value: H) -> Int {
      var hasher = Hasher()
      value.hashFields(into: &hasher)
      return hasher.finalize()
    }
    let (one, two) = (sample(), sample(other: 1))
    let (fields, others) = (one.plainFields, two.plainFields)
    for (key, type) in H.types {
      // `changed` differs from `one` in at most this field.
      do {
        let data = try JSONTree.document(key, others[key] ?? .null)
        guard let data else { continue }
        var changed = sample()
        let same = sample()
        try changed.merge(.json(data), options: MergeOptions(policy: .serverWins, keys: [key]))
        let isEqual = changed.plainFields[key] == fields[key]
        let shown = "\(fields[key].shown), \(changed.plainFields[key].shown)"
        add(.equality, type, one.isEqual(to: changed) == isEqual ? nil : shown)
        let isSame = one.isEqual(to: same) && hash(one) == hash(same)
        add(.equality, type, isSame ? nil : "\(fields[key].shown) is not equal to its copy")
      } catch { add(.equality, type, "\(error)") }
    }
  }

  // MARK: Adapters

  private mutating func adapters() {
    let values = [sample(), sample(other: 1)]
    let trees = values.map { value in H.types.map { ($0.key, value.plainFields[$0.key]?.jsonTree) } }
    do {
      let deep = try JSONAdapter(JSONMapping<H>.keys { "deep.\($0).at" }, unknownKeys: .refuse)
      let list = try JSONAdapter(
        JSONMapping<H>.keys { "list[\((["f0", "f1", "f2", "f3", "id"].firstIndex(of: $0) ?? 5))]" })
      for adapter in [deep, list] {
        compare(.mapped, values, try values.map { try adapter.decode(adapter.encode($0)) })
        compare(.mapped, values, try adapter.decodeArray(adapter.encodeArray(values)))
        for (value, trees) in zip(values, trees) {
          var json = try adapter.encodeValue(value)
          json = json["deep"] ?? json["list"] ?? json
          let text = String(decoding: try JSONWriter().write(json), as: UTF8.self)
          for (place, (key, tree)) in trees.enumerated() {
            let found: JSONTree? =
              switch JSONTree(parsing: text) {
              case .object(let members): members.first { $0.key == key }?.value.member("at")
              case .array(let elements): elements.indices.contains(place) ? elements[place] : nil
              default: nil
              }
            let plain = value.plainFields[key] ?? .null
            if tree != nil, let found {
              add(.mapped, H.types[place].type, plain.agrees(with: found) ? nil : found.text)
            }
          }
        }
      }
      let extra = Data(#"{"deep":{"more":1},"id":0}"#.utf8)
      if (try? deep.decode(extra)) != nil { add(.mapped, H.kind.name, "took a key that no field reads") }
    } catch {
      add(
        .mapped,
        (error as? ArchiveError)?.failedKey.flatMap { key in H.types.first { $0.key == key }?.type } ?? H.kind.name,
        "\(error)")
    }
    lenient(values[0])
  }

  /// Checks that a field with a coercion reads the coerced form as the same value, and that a field without one rejects it.
  private mutating func lenient(_ value: H) {
    for (key, type) in H.types {
      guard let tree = value.plainFields[key]?.jsonTree, let other = Leniency(type, tree) else { continue }
      let data = Data(JSONTree.object([.init(key: key, value: other.tree)]).text.utf8)
      do {
        let adapter = try JSONAdapter(JSONMapping<H>([key: JSONField.automatic.lenient(other.form)]))
        let read = try adapter.decode(data).plainFields[key]
        add(.lenient, type, read == value.plainFields[key] ? nil : "\(other.tree.text) became \(read.shown)")
      } catch { add(.lenient, type, "\(other.tree.text): \(error)") }
      // A `String?` field accepts an empty string even without a coercion.
      let isTaken = type != "String?" && (try? H(fromJSON: data)) != nil
      add(.lenient, type, isTaken ? "\(other.tree.text) was taken without coercion" : nil)
    }
  }

  // MARK: Patches

  private mutating func patches(_ key: String, _ type: String, _ here: Plain, _ there: Plain) {
    var mixer = Mixer(random: SeededRandom(seed: seed &+ 0x4321))
    let near = mixer.mix(here, with: there)
    let shown = "\(here.shown) and \(near.shown)"
    for target in [near, there] {
      guard let from = here.jsonTree, let to = target.jsonTree else { continue }
      do {
        let old = try JSONReader().read(Data(JSONTree.object([.init(key: key, value: from)]).text.utf8))
        let new = try JSONReader().read(Data(JSONTree.object([.init(key: key, value: to)]).text.utf8))
        func check(_ what: String, _ made: ArchiveValue) throws {
          let text = String(decoding: try JSONWriter().write(made), as: UTF8.self)
          let same = JSONTree(parsing: text)?.unordered == JSONTree.object([.init(key: key, value: to)]).unordered
          add(.patches, type, same ? nil : "\(what) of \(from.text) and \(to.text) is \(text)")
        }
        let patch = JSONPatch(from: old, to: new)
        try check("patch", patch.applied(to: old))
        try check("patch as text", JSONPatch(parsing: JSONWriter().write(patch.json)).applied(to: old))
        try check("difference", ValueDifference(from: old, to: new).applied(to: old))
        if !JSONTree.object([.init(key: key, value: to)]).hasNull {
          try check("merge patch", JSONMergePatch.apply(JSONMergePatch.patch(from: old, to: new), to: old))
        }
        // A `test` operation succeeds if and only if the value is equal.
        func holds(_ value: JSONTree) -> Bool {
          let text = "[{\"op\":\"test\",\"path\":\"/\(key)\",\"value\":\(value.text)}]"
          return (try? JSONPatch(parsing: Data(text.utf8)).applied(to: old)) != nil  // Throws if the value differs.
        }
        let isSame = from.unordered == to.unordered
        add(.patches, type, holds(from) && holds(to) == isSame ? nil : "a test of \(to.text) on \(from.text)")
        if old == new, !patch.operations.isEmpty || !ValueDifference(from: old, to: new).isEmpty {
          add(.patches, type, "\(from.text) differs from itself")
        }
        // A patch addresses elements by their indices. Sets are skipped, because their elements are unordered.
        if target == near, !type.contains("Set<"), !target.repeatsIdentity, !here.repeatsIdentity {
          try patched(key, type, patch, near, shown)
        }
      } catch { add(.patches, type, "\(shown): \(error)") }
    }
  }

  /// Checks that a model can apply a patch of its own document, and that the patch from one model to another turns the first into the
  /// second.
  private mutating func patched(_ key: String, _ type: String, _ patch: JSONPatch, _ near: Plain, _ shown: String)
    throws
  {
    let one = sample()
    var value = sample()
    do {
      _ = try value.merge(.patch(patch))
      let result = value.plainFields[key] ?? .null
      add(.patched, type, result.unordered == near.unordered ? nil : "\(shown) became \(result.shown)")
    } catch { add(.patched, type, "\(shown): \(error)") }
    guard let data = try JSONTree.document(key, near) else { return }
    var two = sample()
    try two.merge(.json(data), options: MergeOptions(policy: .serverWins, keys: [key]))
    do {
      let adapter = try JSONAdapter<H>()
      let patch = try adapter.jsonMergePatch(from: one, to: two)
      let made = try adapter.decode(JSONMergePatch.apply(patch, to: adapter.encodeValue(one)))
      let same = made.plainFields[key]?.unordered == two.plainFields[key]?.unordered
      add(.modelPatch, type, same ? nil : "\(shown): \(patch) made \(made.plainFields[key].shown)")
    } catch let error as ArchiveError where error.code == .notEncodable && near.hasNullInDictionary {
      // A merge patch cannot set a dictionary value to null.
    } catch { add(.modelPatch, type, "\(shown): \(error)") }
  }
}

/// A JSON form that a field accepts only if it has the coercion.
struct Leniency {
  let form: JSONCoercion
  let tree: JSONTree

  init?(_ type: String, _ tree: JSONTree) {
    switch (type, tree) {
    case ("Int", .number(let number)), ("Int8", .number(let number)), ("UInt64", .number(let number)),
      ("Double", .number(let number)), ("Decimal", .number(let number)), ("Int?", .number(let number)):
      (form, self.tree) = (.numericString, .text(number.text))
    case ("Bool", .bool(let bool)): (form, self.tree) = (.booleanString, .text("\(bool)"))
    case ("Bool?", .bool(let bool)): (form, self.tree) = (.booleanNumber, .number(bool ? "1" : "0"))
    case ("Level", .number(let number)): (form, self.tree) = (.wholeNumber, .number(number.text + ".0"))
    case ("String?", .null), ("Date?", .null), ("Color?", .null): (form, self.tree) = (.emptyStringAsNull, .text(""))
    case (_, .array(let elements)) where type.hasPrefix("[") && !type.contains(":") && elements.count == 1:
      switch elements[0] {
      case .array, .null, .object: return nil
      case .bool, .number, .text: (form, self.tree) = (.singleElement, elements[0])
      }
    default: return nil
    }
  }
}

extension JSONTree {
  /// Returns a document with one key, or `nil` if JSON cannot represent the value.
  static func document(_ key: String, _ value: Plain) throws -> Data? {
    value.jsonTree.map { Data(JSONTree.object([.init(key: key, value: $0)]).text.utf8) }
  }

  func member(_ key: String) -> JSONTree? {
    if case .object(let members) = self { members.first { $0.key == key }?.value } else { nil }
  }

  /// Whether an object contains null at any depth.
  var hasNull: Bool {
    switch self {
    case .null, .bool, .number, .text: false
    case .array(let elements): elements.contains(where: \.hasNull)
    case .object(let members): members.contains { $0.value == .null || $0.value.hasNull }
    }
  }

  /// The document with sorted object members.
  var unordered: JSONTree {
    switch self {
    case .null, .bool, .number, .text: self
    case .array(let elements): .array(elements.map(\.unordered))
    case .object(let members):
      .object(members.map { Member(key: $0.key, value: $0.value.unordered) }.sorted { $0.key < $1.key })
    }
  }
}
