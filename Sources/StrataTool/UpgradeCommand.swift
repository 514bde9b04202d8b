internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct UpgradeCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "upgrade", abstract: "Rewrite archives in the current versions of their models.",
    discussion: """
      The command needs the models of an app, so it works only in the app's own tool (see “A tool of your own” in \
      Docs/Tool.md). The type in the stamp of an archive determines its model. A stream is upgraded one model at a \
      time. A single archive is written to the file --output. Several archives, and the archives of folders, are \
      written to the folder --output. The exit code is 0 if all archives were upgraded or were already current, and 1 \
      otherwise.

      Example:

        strata upgrade Documents -o Upgraded
      """)

  @Argument(help: "The archives or folders to upgrade.", completion: .file())
  var files: [String]

  @Option(name: .shortAndLong, help: "The archive to write, or the folder for several archives.", completion: .file())
  var output: String

  @Flag(help: "Replace existing files.")
  var overwrite = false

  @Flag(help: "Print the results as JSON.")
  var json = false

  @Flag(name: .shortAndLong, help: "Show only failures, without a summary.")
  var quiet = false

  @OptionGroup(title: "Limits")
  var limits: LimitOptions

  func validate() throws {
    guard !files.contains("-"), output != "-" else {
      throw ValidationError("upgrade works only on files; standard input and output are not supported")
    }
  }

  func run(on console: Console) throws -> Int32 {
    guard !console.models.types.isEmpty else {
      throw ToolError(
        "upgrade needs your model types, which this program does not contain; use the app's own tool, which "
          + "calls Tool.main(Issue.self) from StrataTool (see “A tool of your own” in Docs/Tool.md)")
    }
    var report = FileReport([
      .upgraded, .current, .damaged, .refused, .missing, .unreadable, .unsupported, .unknown, .exists, .other,
    ])
    let jobs = try jobs()
    for (place, job) in jobs.enumerated() {
      console.progress("\(place + 1)/\(jobs.count) \(job.input.onOneLine)")
      report.add(job.result ?? result(job, console))
    }
    return try report.show(asJSON: json, isQuiet: quiet, console)
  }

  /// A file to upgrade.
  private struct Job {
    let input: String
    let output: String
    /// Creates the parent folders of the output.
    var prepare: () throws -> Void = {}
    /// Whether the user specified the file itself, not only its folder. A file that is not an archive is a failure only
    /// in this case.
    var isNamed = true
    /// The result for an item of a folder that cannot be upgraded, for example a symbolic link; `nil` for any other
    /// file.
    var result: FileResult?
  }

  /// Returns the files to upgrade.
  ///
  /// - Throws: `ToolError` if two of the files have the same output.
  private func jobs() throws -> [Job] {
    if files.count == 1, !FileTree.isFolder(files[0]) { return [Job(input: files[0], output: output)] }
    var jobs: [Job] = []
    for path in files {
      guard FileTree.isFolder(path) else {
        let name = URL(fileURLWithPath: path).lastPathComponent
        jobs.append(Job(input: path, output: output + "/" + name, prepare: { try Self.makeFolder(output) }))
        continue
      }
      let pair = try FolderPair(input: path, output: output)
      for (name, item) in try FileTree(pair.input).items where !FileTree.isUnfinished(name) {
        var job = Job(input: pair.input + "/" + name, output: pair.output + "/" + name, isNamed: false)
        job.prepare = {
          try Self.makeFolder(pair.output)
          try pair.makeFolder(for: name)
        }
        switch item {
        case .file: break
        case .other(let kind): job.result = FileResult(job.input, .other, kind)
        case .unreadable(let error): job.result = FileResult(job.input, error)
        }
        jobs.append(job)
      }
    }
    var inputs: [String: String] = [:]
    for job in jobs {
      if let other = inputs.updateValue(job.input, forKey: job.output) {
        throw ToolError(
          "the files \(other) and \(job.input) would both be written to \(job.output); upgrade them into separate "
            + "folders")
      }
    }
    return jobs
  }

  private static func makeFolder(_ path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  private func result(_ job: Job, _ console: Console) -> FileResult {
    do {
      let file = try InputFile(path: job.input)
      switch file.format {
      case .archive:
        guard try !file.isEmpty else { return FileResult(job.input, .damaged, "the file is empty") }
      case .propertyList:
        let advice = "a property list; convert it to an archive with strata convert"
        return FileResult(job.input, job.isNamed ? .unsupported : .other, advice)
      case .other(let found):
        guard !job.isNamed else { throw InputFile.unknown(found) }
        return FileResult(job.input, .other, found)
      }
      let stamp = try ToolError.at(job.input) { try file.stamp() }
      guard let type = console.models.type(of: stamp) else {
        return FileResult(job.input, .unknown, console.models.unknown(stamp).message)
      }
      guard try overwrite || FileStatus(ofPath: job.output) == nil else {
        return FileResult(
          job.input, .exists, "the output file \(job.output.onOneLine) already exists; to replace it, pass --overwrite")
      }
      let size = try OpenFile(reading: DataFile(job.input).url).status().size
      try job.prepare()
      let (count, report, wasOlder) = try console.models.upgrade(
        file, as: type, to: DataFile(job.output), limits: limits.limits)
      var content = FileResult.Content(
        kind: stamp.kind == .single ? "archive" : "stream", type: stamp.typeName, modelVersion: stamp.modelVersion,
        count: count, noun: "value", size: size)
      content.add(type, report)
      return FileResult(job.input, content, wasOlder ? .upgraded : .current)
    } catch { return FileResult(job.input, error) }
  }
}
