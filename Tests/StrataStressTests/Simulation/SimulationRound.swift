import Foundation
import StrataCore
import StrataTestSupport

/// One step of a round. Its effect depends on its seed and the current state.
struct SimulationStep: CustomStringConvertible {
  enum Kind: String, CaseIterable {
    case edit, editServer, sendWhole, sendPartial, sendRecord, sendModel, sendMergePatch, sendPatch, archive, migrate
    case resolve, push
  }

  let kind: Kind
  let replica: Int
  let seed: UInt64
  /// The number of edits that the step makes.
  var count = 1

  var description: String {
    switch kind {
    case .edit: "edit \(replica) (\(count))"
    case .editServer: "edit the server (\(count))"
    default: "\(kind.rawValue) \(replica)"
    }
  }
}

/// A round, in which two replicas and a server begin with a start value and perform a series of steps.
struct SimulationRound {
  let seed: UInt64
  var steps: [SimulationStep]
  /// Fields that keep their defaults on all sides.
  var plainKeys = Set<String>()

  init(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    self.seed = seed
    let weights: [(SimulationStep.Kind, Int)] = [
      (.edit, 8), (.editServer, 6), (.sendWhole, 3), (.sendPartial, 4), (.sendRecord, 2), (.sendModel, 1),
      (.sendMergePatch, 2), (.sendPatch, 2), (.archive, 1), (.migrate, 1), (.resolve, 2), (.push, 2),
    ]
    let kinds = weights.flatMap { Array(repeating: $0.0, count: $0.1) }
    steps = (0..<3 + random.below(10)).map { _ in
      let kind = random.oneOf(kinds)
      return SimulationStep(kind: kind, replica: random.below(2), seed: random.next(), count: 1 + random.below(4))
    }
  }

  /// Performs the steps.
  ///
  /// - Parameters:
  ///   - isOracleAlone: whether the library is left out.
  ///   - log: receives a description of each step.
  /// - Returns: the first failure, or `nil`.
  func failure(isOracleAlone: Bool = false, log: (String) -> Void = { _ in }) -> SimulationFailure? {
    do {
      var world = try SimulationWorld(self, isOracleAlone: isOracleAlone, log: log)
      for step in steps { try world.run(step, log: log) }
      try world.finish(log: log)
      return nil
    } catch let failure as SimulationFailure {
      return failure
    } catch { return SimulationFailure("error", [], "\(error)") }
  }

  /// Leaves out steps, edits and fields, and returns the smallest round that still has the same failure.
  func shrunk(_ failure: SimulationFailure) -> SimulationRound {
    var smallest = self
    func isSame(_ round: SimulationRound) -> Bool { round.failure()?.signature == failure.signature }
    var isSmaller = true
    while isSmaller {
      isSmaller = false
      for place in smallest.steps.indices.reversed() {
        var round = smallest
        round.steps.remove(at: place)
        if isSame(round) { (smallest, isSmaller) = (round, true) }
      }
      for place in smallest.steps.indices where smallest.steps[place].count > 1 {
        var round = smallest
        round.steps[place].count -= 1
        if isSame(round) { (smallest, isSmaller) = (round, true) }
      }
    }
    for key in ModelShape.document.fields.map(\.key) {
      var round = smallest
      round.plainKeys.insert(key)
      if isSame(round) { smallest = round }
    }
    return smallest
  }

  /// The log of all steps and the failure, for a person who investigates it.
  var story: String {
    var lines: [String] = []
    let failure = failure { lines.append($0) }
    if let failure { lines.append("→ \(failure)") }
    return lines.joined(separator: "\n")
  }
}

/// The server and the replicas during a round.
private struct SimulationWorld {
  private static let shape = Shape.model(.document)

  private var server: Tree
  private var replicas: [SimulatedReplica]
  private let allowsNaN: Bool
  private let plainKeys: Set<String>

  init(_ round: SimulationRound, isOracleAlone: Bool, log: (String) -> Void) throws {
    var random = SeededRandom(seed: round.seed ^ 0x5EED)
    allowsNaN = random.isOnce(in: 4)
    plainKeys = round.plainKeys
    let start = random.tree(.model(.document), "element", allowsNaN: allowsNaN, isJSON: true)
    server = Self.plain(start, plainKeys)
    log("the server starts with \(Self.text(server))")
    let isKnown = (0..<2).map { _ in !random.isOnce(in: 5) }
    replicas = []
    for number in 0..<2 {
      if !isKnown[number] { log("replica \(number) does not know what the server has") }
      let isPart = isKnown[number] && random.isOnce(in: 6)
      let sent = isPart ? part(random.partial(server, Self.shape) { _, _ in true }) : server
      if isPart { log("replica \(number) starts with the part \(sent.story)") }
      replicas.append(try SimulatedReplica(sent, isFromServer: isKnown[number], isOracleAlone: isOracleAlone))
    }
  }

  /// The document with the given keys reset to their defaults.
  private static func plain(_ tree: Tree, _ keys: Set<String>) -> Tree {
    var object = tree.objectValue ?? ArchiveObject()
    for field in ModelShape.document.fields where keys.contains(field.key) && object[field.key] != nil {
      object[field.key] = field.initial
    }
    return .object(object)
  }

  /// Adds the owner's identity to a part of a document if the local owner may not be the owner in the base. Without it, the part could
  /// refer to either owner.
  private func named(_ tree: Tree, for replica: SimulatedReplica) -> Tree {
    guard case .object(var object) = tree, case .object(var owner)? = object["owner"], owner["id"] == nil else {
      return tree
    }
    let path: FlatPath = ["owner", "id"]
    if let base = replica.base, base[path] == replica.local[path] { return tree }
    owner["id"] = server["owner"]?["id"]
    object["owner"] = .object(owner)
    return .object(object)
  }

  /// The part of a document without the plain keys.
  private func part(_ tree: Tree) -> Tree {
    .object(ArchiveObject((tree.objectValue ?? ArchiveObject()).entries.filter { !plainKeys.contains($0.key) }))
  }

  /// A whole document as text, without fields that have their defaults.
  private static func text(_ tree: Tree) -> String {
    Tree.object(
      ArchiveObject(
        (tree.objectValue ?? ArchiveObject()).entries.filter { entry in
          ModelShape.document.field(entry.key)?.initial.canonicalText != entry.value.canonicalText
        })
    ).story
  }

  mutating func run(_ step: SimulationStep, log: (String) -> Void) throws {
    var random = SeededRandom(seed: step.seed)
    switch step.kind {
    case .edit:
      let edited = change(replicas[step.replica].tree, step.count, &random, isJSON: false)
      try replicas[step.replica].edit(edited)
      log("\(step)  → \(Self.text(replicas[step.replica].tree))")
    case .editServer:
      server = change(server, step.count, &random, isJSON: true)
      log("\(step)  → \(Self.text(server))")
    case .sendWhole: try send(server, to: step.replica, "\(step)", log)
    case .sendPartial:
      let replica = replicas[step.replica]
      let whole = random.partial(server, Self.shape) { path, name in
        guard case .choice(name, _)? = replica.local[path] else { return true }
        guard let known = replica.base?[path] else { return false }
        if case .choice(name, _) = known { return false }
        return true
      }
      try send(named(part(whole), for: replica), to: step.replica, "\(step)", log)
    case .sendRecord:
      let whole = random.partial(server, Self.shape) { _, _ in true }
      let part = named(part(whole), for: replicas[step.replica])
      log("\(step)  \(part.story)")
      guard case .record(let record) = part.archived(Self.shape) else { return }
      try replicas[step.replica].receive(part, keepsUnlisted: true) { try $0.merge(.record(record)) }
    case .sendModel:
      log("\(step)")
      let value = server.completed(Self.shape).archived(Self.shape)
      let model = try SimulatedDocument.decode(from: value, in: DecodingContext())
      try replicas[step.replica].receive(server, keepsUnlisted: false) { try $0.mergeValues(from: model) }
    case .sendMergePatch, .sendPatch: try sendPatch(step, &random, log)
    case .archive:
      log("\(step)")
      try replicas[step.replica].archive()
    case .migrate:
      log("\(step)")
      try replicas[step.replica].migrate()
    case .resolve:
      let resolution = random.oneOf([MergeResolution.server, .server, .base, .local])
      log("\(step) \(resolution)")
      try replicas[step.replica].resolve(random.below(100), with: resolution)
    case .push: try push(step.replica, log)
    }
  }

  private func change(_ tree: Tree, _ count: Int, _ random: inout SeededRandom, isJSON: Bool) -> Tree {
    // Each edit has its own seed, so a smaller count makes the same first edits.
    (0..<count).reduce(tree) { tree, _ in
      var own = SeededRandom(seed: random.next())
      return Self.plain(own.edited(tree, Self.shape, "", allowsNaN: allowsNaN, isJSON: isJSON), plainKeys)
    }
  }

  private mutating func send(_ document: Tree, to replica: Int, _ name: String, _ log: (String) -> Void) throws {
    log("\(name)  \(document.canonicalText == server.canonicalText ? "everything" : document.story)")
    try replicas[replica].receive(document, keepsUnlisted: true) { model in
      guard !document.hasNaN else { return try model.merge(.json(document)) }
      return try model.merge(.json(JSONWriter().write(document)))
    }
  }

  private mutating func sendPatch(
    _ step: SimulationStep, _ random: inout SeededRandom, _ log: (String) -> Void
  ) throws {
    // Sends the whole document if a patch is impossible: JSON has no NaN, and a patch needs the complete base.
    guard let base = replicas[step.replica].wholeBase, !base.hasNaN, !server.hasNaN else {
      return try send(server, to: step.replica, "send \(step.replica)", log)
    }
    if step.kind == .sendMergePatch {
      let patch = TreePatch.merging(base, server, Self.shape)
      log("\(step)  \(patch.story)")
      try replicas[step.replica].receive(server, keepsUnlisted: false) {
        try $0.merge(.mergePatch(JSONWriter().write(patch)))
      }
    } else {
      let patch = JSONPatch(TreePatch.operations(base, server, Self.shape, [], &random))
      log("\(step)  \(patch.json.story)")
      try replicas[step.replica].receive(server, keepsUnlisted: false) { try $0.merge(.patch(patch)) }
    }
  }

  private mutating func push(_ replica: Int, _ log: (String) -> Void) throws {
    server = replicas[replica].json
    try send(server, to: replica, "push \(replica), and back", log)
  }

  /// Resolves all conflicts and exchanges all states. Throws if the replicas and the server still differ.
  mutating func finish(log: (String) -> Void) throws {
    // Three rounds are enough to exchange all changes of two replicas.
    for _ in 0..<3 {
      for sender in replicas.indices {
        for receiver in replicas.indices {
          try send(server, to: receiver, "send \(receiver) at the end", log)
          while !replicas[receiver].conflicts.isEmpty {
            log("resolve \(receiver) at the end")
            try replicas[receiver].resolve(0, with: .server)
          }
        }
        try push(sender, log)
      }
      if difference == nil { return }
    }
    for receiver in replicas.indices { try send(server, to: receiver, "send \(receiver) at the very end", log) }
    if let path = difference { throw SimulationFailure("replica that is not the server at the end", path) }
  }

  /// The first path at which a replica differs from the server.
  private var difference: FlatPath? {
    // Leaves out `count`, whose changes are added. A change that comes back is added again, so the sums never settle.
    func compared(_ tree: Tree) -> Flat {
      var object = tree.objectValue ?? ArchiveObject()
      object["count"] = nil
      return Flat(.object(object), Self.shape)
    }
    let flat = compared(server)
    return replicas.lazy.compactMap { Flat.differences(compared($0.json), flat).first }.first
  }
}
