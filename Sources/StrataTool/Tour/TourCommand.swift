internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct TourCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "tour",
    abstract:
      "Demonstrate archives, migration steps, merges and stores with a GitHub issue.",
    discussion: """
      The tour archives the first response with an old version of a model, opens the archive with the current version, \
      merges the later responses, and saves each state in a store. By default, the tour uses three responses that are \
      included in the tool.

      Example:

        strata tour -o tour
      """)

  @Argument(
    help: "The JSON responses of the server for one GitHub issue, oldest first.",
    completion: .file(extensions: ["json"]))
  var files: [String] = []

  @Option(name: .shortAndLong, help: "The folder for the archives and the store.", completion: .directory)
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
      console.paint("\(stages.count + 1). A store keeps each state: \(store.path.onOneLine)", .bold))
    for line in lines { try console.line("   " + line.cut(to: console.width - 3)) }
    try console.line()
    try console.line("The archives are in \(output.onOneLine). To show an archive, run strata inspect.")
    try console.line(
      "To list the revisions in the store, run strata store history \(store.path.onOneLine) issue/\(number).")
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
    let outcome =
      "saved as \(path.onOneLine) (\(size), \(share) % of the JSON size); the archive contains the same values"
    try console.line("   " + console.paint(outcome, .green))
  }
}
