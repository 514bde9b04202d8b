internal import ArgumentParser

struct TourCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "tour", abstract: "Archive, upgrade and merge an issue, step by step.")

  func run(on console: Console) throws -> Int32 { throw ToolError("not yet") }
}
