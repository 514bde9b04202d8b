internal import ArgumentParser
internal import StrataCore
internal import StrataRemote

struct ChangesCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "changes", abstract: "List what was changed here and has not been sent, or is refused.",
    discussion: """
      Example:

        strata changes --store tasks.store --retry 1
      """)

  @OptionGroup var file: RemoteFile

  @Option(help: ArgumentHelp("Let a refused change go out again.", valueName: "number"))
  var retry: Int64?

  @Option(help: ArgumentHelp("Take a change back.", valueName: "number"))
  var discard: Int64?

  func validate() throws {
    if retry != nil, discard != nil { throw ValidationError("--retry and --discard do not go together.") }
  }

  func run(on console: Console) throws -> Int32 {
    let queue = try file.open()
    let (file, retry, discard) = (file, retry, discard)
    let names = try file.documents(queue)
    guard !names.isEmpty else {
      try file.show(["changes": []], ["no changes"], console)
      return 0
    }
    let changes = try RemoteFile.at(file.store) {
      try waiting {
        let remote = try await file.offline(queue, names)
        let changes = try await remote.changes()
        if let number = retry ?? discard {
          guard let change = changes.first(where: { $0.number == number }) else {
            throw ToolError("there is no change \(number); strata changes lists them")
          }
          retry == nil ? try await remote.discard(change) : try await remote.retry(change)
        }
        return try await remote.changes()
      }
    }
    try file.show(["changes": .array(changes.map(Self.document))], Self.lines(changes), console)
    return 0
  }

  private static func lines(_ changes: [RemoteChange]) -> [String] {
    guard !changes.isEmpty else { return ["no changes"] }
    var table = TextTable(columns: 5)
    for change in changes {
      let reason = change.reason.map { reason in change.status.map { "\($0): \(reason)" } ?? reason }
      table.add([
        "\(change.number)", change.entity, change.record, "\(change.kind.rawValue), \(change.state.rawValue)",
        reason ?? "",
      ])
    }
    return table.lines
  }

  private static func document(_ change: RemoteChange) -> ArchiveValue {
    func text(_ value: String?) -> ArchiveValue { value.map { .string($0) } ?? .null }
    return [
      "number": .int(change.number), "account": .string(change.account), "entity": .string(change.entity),
      "record": .string(change.record), "id": text(change.id), "kind": .string(change.kind.rawValue),
      "state": .string(change.state.rawValue), "attempts": .int(Int64(change.attempts)), "reason": text(change.reason),
      "status": change.status.map { .int(Int64($0)) } ?? .null,
    ]
  }
}
