internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct ConvertCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "convert", abstract: "Convert keyed archives and property lists to archives.",
    discussion: """
      If the input is a folder, all files in the folder and its subfolders are converted. The name of each archive is \
      the name of the original file followed by .strata. Files in other formats are ignored. To continue an \
      interrupted run, repeat the command: files that are already converted are skipped. The original files are never \
      changed.

      Example:

        strata convert Documents -o Converted --report report.json
      """)

  @Argument(help: "The file or folder to convert, or - for standard input.", completion: .file())
  var input: String

  @Option(
    name: .shortAndLong,
    help: "The archive to write, or - for standard output. If the input is a folder, the folder for the archives.",
    completion: .file())
  var output: String

  @Option(help: "The type name that the archive records for the root, which must be an object or a dictionary.")
  var type: String?

  @Option(help: "The model version that the archive records for the root, as a number.")
  var modelVersion: Int?

  @Option(
    help: "The top-level key whose value is converted. By default, the values of all top-level keys are converted.")
  var key: String?

  @Option(
    help: ArgumentHelp(
      "The old and the new name of a class to rename. This option can be repeated.", valueName: "old=new"))
  var rename: [String] = []

  @Option(help: "The maximum number of files of a folder that are converted at the same time.")
  var jobs: Int?

  @Option(
    help: "The .json or .tsv file for a report on each file of the folder, or - to print the report as JSON.",
    completion: .file(extensions: ["json", "tsv"]))
  var report: String?

  @OptionGroup var limitOptions: LimitOptions

  @Flag(help: "Convert the files of a folder without writing any archives. Only the report is written.")
  var dryRun = false

  func validate() throws {
    for (option, name) in [("--type", type), ("--key", key)] where name?.isEmpty == true {
      throw ValidationError("\(option) must not be empty; specify a name")
    }
    if let type, RecordShape.parseMark(type).modelVersion != nil {
      throw ValidationError("--type takes only a name; pass the version with --model-version")
    }
    if let modelVersion, modelVersion < 0 { throw ValidationError("--model-version must be 0 or greater") }
    if let jobs, !(1...256 ~= jobs) { throw ValidationError("--jobs must be between 1 and 256") }
    if let report, report != "-", !report.hasSuffix(".json"), !report.hasSuffix(".tsv") {
      throw ValidationError("--report must be a .json file, a .tsv file, or - for standard output")
    }
    if output.isEmpty { throw ValidationError("--output must not be empty; specify a path") }
    _ = try newNames()
  }

  private func newNames() throws -> [String: String] {
    var names: [String: String] = [:]
    for text in rename {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
        throw ValidationError("--rename requires two class names in the form OLD=NEW")
      }
      guard RecordShape.parseMark(parts[1]).modelVersion == nil else {
        throw ValidationError("the new class name in --rename must not contain a version")
      }
      guard names.updateValue(parts[1], forKey: parts[0]) == nil else {
        throw ValidationError("--rename is specified twice for the class “\(parts[0])”; remove one of the two")
      }
    }
    return names
  }

  func run(on console: Console) throws -> Int32 {
    let conversion = LegacyConversion(
      type: type, modelVersion: modelVersion, key: key, newNames: try newNames(), limits: limitOptions.limits)
    if input != "-", FileTree.isFolder(input) { return try convertFolder(conversion, console) }
    guard jobs == nil, report == nil, !dryRun else {
      throw ValidationError("--jobs, --report and --dry-run can be used only if the input is a folder")
    }
    try convertFile(conversion, console)
    return 0
  }

  private func convertFile(_ conversion: LegacyConversion, _ console: Console) throws {
    try DataFile(output).refuseTerminal(console)
    let file = try InputFile(DataFile(input), console)
    let name = DataFile(input).name
    switch file.format {
    case .archive:
      throw ToolError(
        "\(name): found \(try file.archiveName) where a keyed archive or a property list is expected")
    case .other(let found):
      throw ToolError("\(name): found \(found) where a keyed archive or a property list is expected")
    case .propertyList(let isBinary):
      try refuseOverwriting()
      let document = try file.legacyDocument(isBinary: isBinary, limits: conversion.limits)
      // A class that the file does not contain is probably misspelled. In a folder, not every file needs to contain
      // every class.
      if let missing = conversion.newNames.keys.sorted().first(where: { !document.hasObjects(of: $0) }) {
        throw ToolError(
          "\(name): the file has no objects of the class \(missing); list the classes with strata inspect")
      }
      let archive = try ToolError.at(input) { try conversion.archive(document) }
      try DataFile(output).write(archive, console)
    }
  }

  /// Throws if the output is the same file as the input, even if it has a different name.
  private func refuseOverwriting() throws {
    guard input != "-", output != "-", !FileTree.isFolder(output),
      FileManager.default.fileExists(atPath: output)
    else { return }
    let files = try ToolError.at(output) {
      try [input, output].map { try OpenFile(reading: URL(fileURLWithPath: $0)).status() }
    }
    guard files[0].device != files[1].device || files[0].inode != files[1].inode else {
      throw ToolError(
        "\(output): the output is the same file as the input; choose a different output path")
    }
  }

  private func convertFolder(_ conversion: LegacyConversion, _ console: Console) throws -> Int32 {
    guard output != "-" else { throw ValidationError("the input is a folder, so the output must also be a folder") }
    let folders = try FolderPair(input: input, output: output)
    if let report, report != "-", try folders.isAmongOriginals(report) {
      throw ToolError("\(report): the report must not be in the input folder; choose a different path")
    }
    let folder = try FolderConversion(folders: folders, conversion: conversion, isDry: dryRun)
    let jobs = jobs ?? min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 8)
    let result = ConversionReport(folders: folders, isDry: dryRun, results: try folder.run(jobs: jobs, console))
    if let report {
      try DataFile(report).write(result.data(isTabSeparated: report.hasSuffix(".tsv")), console)
    }
    for line in result.lines {
      // With `--report -`, standard output contains only the report, so these lines are written to standard error.
      if report == "-" { console.writeError(Data((line + "\n").utf8)) } else { try console.line(line) }
    }
    return result.count(.failed) == 0 ? 0 : 1
  }
}
