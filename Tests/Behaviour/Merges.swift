import Foundation
import StrataCore

/// Simulates random merges. Each case has a base document, a local document and a server document, and chooses the form of the merge
/// source and the options at random.
struct Merges {
  private var random: Random
  private var text: CaseText

  /// Generates the test case for the given seed and writes its results to `text`.
  static func run(_ seed: Int, _ text: inout CaseText) {
    var merges = Merges(random: Random(seed: UInt64(seed)), text: text)
    text = CaseText()
    // Discards the first number, because the first numbers of adjacent seeds may have similar bits.
    _ = merges.random.next()
    switch merges.random.below(20) {
    case 0..<6: merges.documents(Doc.self)
    case 6..<9: merges.documents(Form.self)
    case 9..<11: merges.documents(Row.self)
    case 11..<14: merges.teams()
    case 14..<17: merges.lists()
    default: merges.values()
    }
    Links.cutAll()
    text = merges.text
  }

  // MARK: Documents

  private mutating func documents<M: Sample>(_ type: M.Type) {
    var base = M.random(&random)
    let remembers = M.self is Doc.Type && random.isOnce(in: 2)
    var isKnown = remembers
    text.attempt("setup") { text in
      guard remembers else { return }
      // A model that is decoded from the server's JSON remembers that JSON as its base.
      base = try M(fromJSON: base.jsonData(), validates: false)
      if var doc = base as? Doc {
        doc.draft = "draft"
        if let doc = doc as? M { base = doc }
      }
    }
    var (local, server) = (base, base)
    // Each side changes only a few fields, so that both sides often change the same ones.
    let focus = (0..<6).map { _ in random.below(M.kinds) }
    for _ in 0..<random.below(7) {
      local.edit(random.isOnce(in: 4) ? random.below(M.kinds) : random.oneOf(focus), &random)
    }
    for _ in 0..<random.below(9) {
      server.edit(random.isOnce(in: 4) ? random.below(M.kinds) : random.oneOf(focus), &random)
    }
    let given = random.isOnce(in: 2) ? base : nil
    isKnown = isKnown || given != nil
    let options = self.options(M.self)
    let source = self.source(base: base, local: local, server: server, isKnown: isKnown)
    text.line("case", [String(describing: M.self), remembers ? "remembers" : "", given == nil ? "" : "base"])
    guard let source else { return }
    let isShort = random.isOnce(in: 2)
    text.attempt("merge") { text in
      if isShort, given == nil, options.policies.isEmpty, case .model(let other as M) = source {
        text.report("report", try local.mergeValues(from: other, forKeys: options.keys, policy: options.policy))
      } else {
        text.report("report", try local.merge(source.source, base: given, options: options))
      }
    }
    text.model("result", local)
    outputs(of: local)
    if var doc = local as? Doc, !doc.merging.conflicts.isEmpty || random.isOnce(in: 6) { goOn(&doc) }
  }

  /// Writes the model's archive and JSON, but only for one model in eight.
  private mutating func outputs<M: VersionedModel>(of model: M) {
    guard random.isOnce(in: 8) else { return }
    text.attempt("body") { $0.line("body", Digest.text(of: try ArchiveEncoder().encodeBody(model))) }
    text.attempt("json") { $0.line("json", String(decoding: try model.jsonData(), as: UTF8.self)) }
  }

  /// Resolves some conflicts and merges a second time.
  private mutating func goOn(_ doc: inout Doc) {
    for conflict in doc.mergeConflicts where !random.isOnce(in: 3) {
      let resolution: MergeResolution = random.oneOf([.base, .server, .local, .value("c"), .value(.null)])
      text.attempt("resolve.\(conflict.path)") { _ in try doc.resolve(conflict, with: resolution) }
    }
    if random.isOnce(in: 4) { text.attempt("accepted") { _ in try doc.markSynced() } }
    var server = doc
    for _ in 0..<4 { server.edit(&random) }
    text.attempt("again") { text in
      let tree = try JSONAdapter(Doc.self).encodeValue(server)
      text.report("again", try doc.merge(.json(random.part(of: tree))))
    }
    text.model("last", doc)
  }

  // MARK: Sources

  /// The source of a merge. Models have their own case, so that a test can also use the model itself.
  private enum Source {
    case model(any VersionedModel)
    case other(MergeSource)

    var source: MergeSource {
      switch self {
      case .model(let model): .model(model)
      case .other(let source): source
      }
    }
  }

  private mutating func source<M: Sample>(base: M, local: M, server: M, isKnown: Bool) -> Source? {
    var source: Source?
    text.attempt("source") { text in
      func tree(_ model: M) throws -> ArchiveValue { try JSONAdapter(M.self).encodeValue(model) }
      switch random.below(12) {
      case 0:
        text.begin("source model")
        source = .model(server)
      case 1:
        let data = try server.jsonData()
        text.line("source json", String(decoding: data, as: UTF8.self))
        source = .other(.json(data))
      case 2, 3:
        let data = try JSONWriter().write(random.part(of: tree(server)))
        text.line("source part", String(decoding: data, as: UTF8.self))
        source = .other(.json(data))
      case 4:
        let value = try random.part(of: tree(server))
        text.line("source value", value)
        source = .other(.json(value))
      case 5:
        // This value may have an invalid member.
        let value = try random.damaged(tree(server))
        text.line("source damaged", value)
        source = .other(.json(value))
      case 6:
        let patch = JSONMergePatch.patch(from: try tree(isKnown ? base : local), to: try tree(server))
        text.line("source mergePatch", patch)
        source = .other(.mergePatch(try JSONWriter().write(patch)))
      case 7:
        let patch = random.part(of: random.withNulls(try tree(server)))
        text.line("source ownMergePatch", patch)
        source = .other(.mergePatch(try JSONWriter().write(patch)))
      case 8, 9:
        var patch = JSONPatch(from: try tree(isKnown ? base : local), to: try tree(server))
        if random.isOnce(in: 4) { patch.operations.append(random.operation(try tree(server))) }
        text.line("source patch", patch.json)
        source = .other(.patch(patch))
      case 10:
        text.begin("source archive")
        source = .other(.archive(try ArchiveEncoder().encode(server)))
      default:
        guard var record = try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(server)).recordValue else {
          return
        }
        for key in record.keys where random.isOnce(in: 3) { record[key] = nil }
        if M.self is Doc.Type, random.isOnce(in: 2) {
          record.modelVersion = 1 + random.below(3)
          if record.modelVersion == 1 { record.rename("title", to: "summary") }
          if record.modelVersion != 3 { record["best"] = random.oneOf(["7", "x", .null, 4]) }
        }
        text.line("source record", record)
        source = .other(random.isOnce(in: 2) ? .record(record) : .archive(try ArchiveEncoder().encode(record)))
      }
    }
    return source
  }

  private mutating func options<M: VersionedModel>(_ type: M.Type) -> MergeOptions {
    var options = MergeOptions()
    guard random.isOnce(in: 2) else { return options }
    switch random.below(8) {
    case 0: options.policy = random.policy()
    case 1:
      for _ in 0...random.below(2) {
        options.policies.append((random.selector(), random.policy()))
      }
    case 2, 3: options.conflicts = random.oneOf([.keepLocal, .takeServer, .takeServer, .fail])
    case 4, 5: options.unlisted = .keep
    case 6:
      options.keys = M.schema.fields.map(\.key).filter { _ in random.isOnce(in: 2) }
      if random.isOnce(in: 8) { options.keys?.append("nowhere") }
    default: options.validates = false
    }
    text.line(
      "options",
      [
        "\(options.conflicts)", "\(options.unlisted.map(\.rawValue) ?? "")", options.policy?.description ?? "",
        "\(options.validates)",
      ]
        + options.policies.map { "\($0.path) \($0.policy)" } + (options.keys ?? []))
    return options
  }

  // MARK: Objects

  private mutating func teams() {
    let plan = TeamPlan(random: &random)
    var (local, server) = (plan, plan)
    for _ in 0..<random.below(6) { local.edit(&random) }
    for _ in 0..<random.below(8) { server.edit(&random) }
    let team = local.build()
    let base = random.isOnce(in: 2) ? plan.build() : nil
    if base == nil, random.isOnce(in: 2) {
      // Takes over the merge state of an unedited copy that is marked as synced, so that the team remembers a base.
      text.attempt("setup") { _ in
        let first = plan.build()
        try first.markSynced()
        team.merging = first.merging
      }
    }
    text.line("case", ["Team", base == nil ? "" : "base"])
    let options = self.options(Team.self)
    text.attempt("merge") { text in
      let source: MergeSource
      switch random.below(7) {
      case 0, 1, 2: source = .model(server.build())
      case 3: source = .archive(try ArchiveEncoder().encode(server.build()))
      case 4:
        let json = server.json(&random)
        text.line("source json", json)
        source = .json(try JSONWriter().write(json))
      case 5:
        let json = random.part(of: server.json(&random))
        text.line("source part", json)
        source = .json(json)
      default:
        let patch = JSONMergePatch.patch(from: plan.json(&random), to: server.json(&random))
        text.line("source mergePatch", patch)
        source = .mergePatch(try JSONWriter().write(patch))
      }
      text.report("report", try team.merge(source, base: base, options: options))
    }
    text.model("result", team)
    guard random.isOnce(in: 4) else { return }
    text.attempt("copy") { text in
      let data = try ArchiveEncoder().encode(team)
      text.line("bytes", Digest.text(of: try ArchiveEncoder().encodeBody(team)))
      text.model("copy", try ArchiveDecoder().decode(Team.self, from: data))
    }
    for conflict in team.mergeConflicts {
      let resolution: MergeResolution = random.oneOf([.base, .server, .local])
      text.attempt("resolve.\(conflict.path)") { _ in try team.resolve(conflict, with: resolution) }
    }
    text.model("last", team)
  }

  // MARK: Lists

  private mutating func lists() {
    if random.isOnce(in: 2) { list(Item.self, keys: ["id", "name"]) } else { list(Row.self, keys: ["number"]) }
  }

  private mutating func list<M: Sample>(_ type: M.Type, keys: [String]) {
    let base = random.array(upTo: 8, M.random)
    var (local, server) = (base, base)
    for _ in 0..<random.below(5) { local.editList(&random, M.random) { $0.edit(&$1) } }
    for _ in 0..<random.below(6) { server.editList(&random, M.random) { $0.edit(&$1) } }
    let given = random.isOnce(in: 2) ? base : nil
    let missing: Unlisted = random.oneOf([.removeUnlessEdited, .removeUnlessEdited, .keep, .remove])
    let key: IdentityKey? = random.isOnce(in: 4) ? IdentityKey(random.oneOf(keys + ["nowhere"])) : nil
    var options = self.options(M.self)
    if !random.isOnce(in: 8) { options.keys = nil }
    text.line("case", ["[\(M.self)]", given == nil ? "" : "base", missing.rawValue, key?.description ?? ""])
    text.attempt("merge") { text in
      switch random.below(3) {
      case 0:
        text.report(
          "report", try local.mergeValues(from: server, by: key, unlisted: missing, base: given, options: options))
      case 1:
        let json = try JSONAdapter(M.self).encodeArray(server)
        text.line("source json", String(decoding: json, as: UTF8.self))
        text.report(
          "report", try local.merge(.json(json), by: key, unlisted: missing, base: given, options: options))
      default:
        let value = try ArchiveValue.array(server.map { random.part(of: try JSONAdapter(M.self).encodeValue($0)) })
        text.line("source part", value)
        text.report(
          "report", try local.merge(.json(value), by: key, unlisted: missing, base: given, options: options))
      }
    }
    text.value("result", local)
  }

  // MARK: Values without models

  private mutating func values() {
    let base = ArchiveValue.object(
      ArchiveObject(
        ["a", "b", "c", "id", "t"].compactMap { key in
          random.isOnce(in: 3) ? nil : .init(key: key, value: random.tree(3))
        }))
    var (local, server) = (base, base)
    for _ in 0..<random.below(4) { local = random.edited(local, 3) }
    for _ in 0..<random.below(5) { server = random.edited(server, 3) }
    let given = random.isOnce(in: 3) ? nil : base
    var options = self.options(Item.self)
    if options.keys != nil { options.keys = ["a", "b"] }
    text.line("case", ["values", given == nil ? "" : "base"])
    text.line("base", base)
    text.line("local", local)
    text.line("server", server)
    text.attempt("merge") { text in
      let (value, report) = try Merger(options: options).merge(server, into: local, base: given)
      text.line("result", value)
      text.report("report", report)
    }
    guard random.isOnce(in: 4) else { return }
    text.attempt("difference") { text in
      let difference = ValueDifference(from: local, to: server)
      text.line("difference", difference.changes.map { "\($0.kind.rawValue) \($0.path)" })
      text.line("applied", try difference.applied(to: local))
      let patch = JSONPatch(from: local, to: server)
      text.line("patch", patch.json)
      text.line("patched", try patch.applied(to: local))
      let merged = JSONMergePatch.patch(from: local, to: server)
      text.line("mergePatch", merged)
      text.line("mergePatched", JSONMergePatch.apply(merged, to: local))
    }
  }
}

extension Random {
  fileprivate mutating func policy() -> MergePolicy {
    switch below(12) {
    case 0: .automatic
    case 1: .conflict
    case 2: .serverWins
    case 3: .localWins
    case 4: .keepLocal
    case 5: .max
    case 6: .min.orElse(.serverWins)
    case 7: .serverWins.ifPresent
    case 8: .recursive
    case 9: .union.orElse(.localWins)
    case 10: .byID("id", unlisted: oneOf([.keep, .remove, .removeUnlessEdited]))
    default: .lines.orElse(.append)
    }
  }

  fileprivate mutating func selector() -> ValuePath {
    oneOf(["title", "*", "a", "items[*].name", "[*].name", "place.*", "people.*", "a.b", "name", "members[*].name"])
  }

  /// Returns the tree with some keys removed from its objects, at any depth.
  fileprivate mutating func part(of value: ArchiveValue) -> ArchiveValue {
    switch value {
    case .object(let object):
      // An object with only one key may represent an enum case, and merging it without that key would fail. It is usually kept whole.
      if object.count == 1, !isOnce(in: 8) { return value }
      var entries: [ArchiveObject.Entry] = []
      for entry in object.entries {
        // Most identities are kept, because elements without an identity would all be new.
        let isKept = ["id", "number"].contains(entry.key) ? !isOnce(in: 12) : isOnce(in: 2)
        guard isKept else { continue }
        entries.append(.init(key: entry.key, value: part(of: entry.value)))
      }
      return .object(ArchiveObject(entries))
    case .array(let elements):
      var parts: [ArchiveValue] = []
      for element in elements { parts.append(part(of: element)) }
      return .array(parts)
    default: return value
    }
  }

  /// Returns the tree with some members replaced with null.
  fileprivate mutating func withNulls(_ value: ArchiveValue) -> ArchiveValue {
    guard case .object(let object) = value else { return value }
    var entries: [ArchiveObject.Entry] = []
    for entry in object.entries {
      entries.append(.init(key: entry.key, value: isOnce(in: 10) ? .null : withNulls(entry.value)))
    }
    return .object(ArchiveObject(entries))
  }

  /// Returns a part of the tree that may contain a value of the wrong type or an unknown enum case.
  fileprivate mutating func damaged(_ value: ArchiveValue) -> ArchiveValue {
    guard case .object(var object) = part(of: value), !object.isEmpty else { return value }
    let entry = object.entries[below(object.count)]
    switch below(6) {
    case 0: object[entry.key] = oneOf([.null, true, "?", -1, 0.5, [], ["x": 1]])
    case 1: if object["state"] != nil { object["state"] = "lost" } else { object["later"] = tree(1) }
    case 2: if object["channel"] != nil { object["channel"] = oneOf(["e-mail", "fax"]) }
    case 3:
      // Only fields that declare a coercion accept these values.
      let key = object["page"] == nil ? entry.key : "page"
      object[key] = oneOf([.string("\(below(4))"), .double(Double(below(4))), .double(0.5), "x"])
    case 4: object["payment"] = ["creditCard": ["number": "1"]]
    default: if case .object = entry.value { object[entry.key] = damaged(entry.value) }
    }
    return .object(object)
  }

  /// Returns a random JSON Patch operation, which may not be applicable to the tree.
  fileprivate mutating func operation(_ tree: ArchiveValue) -> JSONPatch.Operation {
    let keys = tree.objectValue?.keys ?? []
    let (key, other) = keys.isEmpty ? ("a", "b") : (oneOf(keys), oneOf(keys))
    switch below(6) {
    case 0: return .remove(ValuePath(key: key))
    case 1: return .test(ValuePath(key: key), tree[other] ?? .null)
    case 2: return .add(ValuePath(key, "-"), self.tree(1))
    case 3: return .move(from: ValuePath(key: key), to: ValuePath(key: other))
    case 4: return .copy(from: ValuePath(key: key), to: ValuePath(key: other))
    default: return .replace(ValuePath(key, "0"), self.tree(0))
    }
  }

  /// Returns the tree with one random change.
  mutating func edited(_ value: ArchiveValue, _ depth: Int) -> ArchiveValue {
    switch value {
    case .object(var object) where depth > 0:
      let key = object.isEmpty || isOnce(in: 4) ? oneOf(["a", "b", "c", "id", "t"]) : oneOf(object.keys)
      if let inner = object[key], !isOnce(in: 4) {
        object[key] = edited(inner, depth - 1)
      } else {
        object[key] = isOnce(in: 4) ? nil : tree(depth - 1)
      }
      return .object(object)
    case .array(var elements) where depth > 0:
      var random = self
      elements.editList(&random, { $0.tree(depth - 1) }, { $0 = $1.edited($0, depth - 1) })
      self = random
      return .array(elements)
    default: return tree(depth)
    }
  }
}
