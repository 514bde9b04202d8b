internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct TourCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "tour",
    abstract:
      "Archive a GitHub issue, open it years later, merge what the server says since, and keep every state of it.",
    discussion: """
      Without files, three responses that come with the tool are taken.

      Example:

        strata tour -o tour
      """)

  @Argument(help: "Responses for one GitHub issue, as JSON, in their order.", completion: .file(extensions: ["json"]))
  var files: [String] = []

  @Option(name: .shortAndLong, help: "The folder for the archives.", completion: .directory)
  var output = "strata-tour"

  func run(on console: Console) throws -> Int32 {
    let responses =
      try files.isEmpty
      ? TourFixtures.responses.enumerated().map {
        try IssueResponse(path: $1.name, $1.text, isFirst: $0 == 0)
      }
      : files.enumerated().map { try IssueResponse(path: $1, DataFile($1).read(console), isFirst: $0 == 0) }
    // Everything is computed before the first file is written, so that a failure leaves no files behind.
    let stages = try TourPlan.stages(of: responses, width: console.width)
    let folder = URL(fileURLWithPath: output, isDirectory: true)
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch {
      throw ToolError("cannot create the folder “\(output)”: " + ToolError.reason(of: error))
    }
    let title = stages.first?.issue.title ?? ""
    let heading = "Issue \(responses.first?.number ?? 0): \(title.onOneLine)".cut(to: console.width)
    try console.line(console.paint(heading, .bold))
    for (place, stage) in stages.enumerated() { try printStage(stage, place + 1, in: folder, console) }
    let store = TourStore(in: folder, output)
    let number = responses.first?.number ?? 0
    let lines = try store.run(stages, key: "issue/\(number)")
    try console.line()
    try console.line(
      console.paint("\(stages.count + 1). A store keeps every state: \(store.path.onOneLine)", .bold))
    for line in lines { try console.line("   " + line.cut(to: console.width - 3)) }
    try console.line()
    try console.line("The archives are in \(output.onOneLine); look into them with strata inspect.")
    try console.line("Look into the store with strata store history \(store.path.onOneLine) issue/\(number).")
    return 0
  }

  private func printStage(_ stage: TourStage, _ place: Int, in folder: URL, _ console: Console) throws {
    try console.line()
    try console.line(console.paint("\(place). \(stage.title.onOneLine)", .bold))
    for line in stage.lines { try console.line("   " + line) }
    let path = (output.hasSuffix("/") ? output : output + "/") + stage.fileName
    let url = folder.appendingPathComponent(stage.fileName)
    try AtomicFile.write(stage.archive, to: url)
    guard try stage.isIntact(Data(AtomicFile.read(url))) else {
      throw ToolError("\(path): the archive does not contain the saved value")
    }
    let size = stage.archive.count.counted("byte")
    let share = ratio(UInt64(stage.archive.count) * 100, UInt64(stage.jsonSize), places: 0)
    let outcome = "saved as \(path.onOneLine): \(size), \(share) % of the JSON; opened again: equal"
    try console.line("   " + console.paint(outcome, .green))
  }
}
