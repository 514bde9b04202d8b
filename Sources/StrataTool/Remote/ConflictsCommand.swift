internal import ArgumentParser
internal import Foundation
internal import StrataCore
internal import StrataRemote

struct ConflictsCommand: ToolCommand {
  enum Side: String, ExpressibleByArgument, CaseIterable { case local, server }

  static let configuration = CommandConfiguration(
    commandName: "conflicts", abstract: "List what both sides changed, or resolve it.",
    discussion: """
      Without a number, the conflicts of the database are listed. With one, the conflict ends by --take local, by --take \
      server, or by --value. What is to be sent goes out with strata refresh --send. Exits with 1 where conflicts are left.

      Example:

        strata conflicts --store tasks.store 1 --take local
      """)
  static let failureCode: Int32 = 2

  @Argument(help: "The number of a conflict.")
  var number: Int64?

  @OptionGroup var file: RemoteFile

  @Option(help: "The side whose value counts: local or server.")
  var take: Side?

  @Option(help: ArgumentHelp("Another value that counts.", valueName: "json"))
  var value: String?

  func validate() throws {
    if number == nil, take != nil || value != nil { throw ValidationError("the number of a conflict is missing.") }
    if number != nil, (take == nil) == (value == nil) {
      throw ValidationError("a conflict is resolved by --take or by --value.")
    }
  }

  func run(on console: Console) throws -> Int32 {
    let queue = try file.open()
    let (file, number) = (file, number)
    let resolution = try resolution()
    let names = try file.documents(queue)
    guard !names.isEmpty else {
      if let number { throw ToolError("there is no conflict \(number)") }
      try file.show(["conflicts": []], ["no conflicts"], console)
      return 0
    }
    let conflicts = try RemoteFile.at(file.store) {
      try waiting {
        let remote = try await file.offline(queue, names)
        if let number, let resolution {
          guard let conflict = try await remote.conflicts().first(where: { $0.number == number }) else {
            throw ToolError("there is no conflict \(number); strata conflicts lists them")
          }
          try await remote.resolve(conflict, resolution)
        }
        return try await remote.conflicts()
      }
    }
    let lines = try Self.lines(conflicts)
    try file.show(["conflicts": .array(conflicts.map(Self.document))], lines, console)
    return conflicts.isEmpty ? 0 : 1
  }

  private func resolution() throws -> RemoteConflict.Resolution? {
    switch take {
    case .local: return .local
    case .server: return .server
    case nil: break
    }
    guard let value else { return nil }
    return try .value(
      ToolError.at("--value") { try JSONReader.refusingDuplicates(limits: ArchiveLimits()).read(Data(value.utf8)) })
  }

  private static func lines(_ conflicts: [RemoteConflict]) throws -> [String] {
    guard !conflicts.isEmpty else { return ["no conflicts"] }
    func text(_ value: ArchiveValue) throws -> String {
      String(decoding: try JSONWriter().write(value), as: UTF8.self).cut(to: 60)
    }
    return try conflicts.flatMap { conflict in
      [
        "\(conflict.number)  \(conflict.entity) \(conflict.record)  \(place(conflict))",
        "   base    \(try text(conflict.base))", "   local   \(try text(conflict.local))",
        "   server  \(try text(conflict.server))",
      ]
    }
  }

  /// The path within the document.
  private static func place(_ conflict: RemoteConflict) -> String {
    conflict.path.hasPrefix("value.") ? String(conflict.path.dropFirst("value.".count)) : conflict.path
  }

  private static func document(_ conflict: RemoteConflict) -> ArchiveValue {
    [
      "number": .int(conflict.number), "account": .string(conflict.account), "entity": .string(conflict.entity),
      "record": .string(conflict.record), "path": .string(place(conflict)), "base": conflict.base,
      "local": conflict.local, "server": conflict.server,
    ]
  }
}
