internal import ArgumentParser
internal import Foundation
internal import StrataCore
internal import StrataStore

struct VerifyCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Read files completely, and report whether they are intact.",
    discussion: """
      The files can be archives, stores, keyed archives or property lists. If a path is a folder, all files in the \
      folder and its subfolders are read. There, files in other formats are reported as other, which is not a failure. \
      Each file is reported as intact, damaged, missing, unreadable or unsupported. The exit code is 0 if all files \
      are intact, and 1 otherwise. The tool of an app also decodes archives of its models and checks their validation \
      rules. An archive that its model rejects is reported as refused.

      Example:

        strata verify Documents backup.strata
      """)

  @Argument(help: "The files or folders to verify, or - for standard input.", completion: .file())
  var files: [String]

  @Flag(help: "Print the results as JSON.")
  var json = false

  @Flag(name: .shortAndLong, help: "Show only files that are not intact, without a summary.")
  var quiet = false

  @OptionGroup(title: "Limits")
  var limits: LimitOptions

  func run(on console: Console) throws -> Int32 {
    var report = FileReport([.intact, .damaged, .refused, .missing, .unreadable, .unsupported, .other])
    for (place, path) in files.enumerated() {
      if path != "-", FileTree.isFolder(path) {
        verify(folder: path, console, &report)
      } else {
        report.add(result(path, "\(place + 1)/\(files.count)", isNamed: true, console))
      }
    }
    return try report.show(asJSON: json, isQuiet: quiet, console)
  }

  private func verify(folder: String, _ console: Console, _ report: inout FileReport) {
    let root = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
    let items: [(path: String, item: FileTree.Item)]
    do { items = try FileTree(root).items.filter { !FileTree.isUnfinished($0.path) } } catch {
      return report.add(FileResult(folder, error))
    }
    var isKnown = false
    for (place, (name, item)) in items.enumerated() {
      let path = root + "/" + name
      let result =
        switch item {
        case .file: result(path, "\(place + 1)/\(items.count)", isNamed: false, console)
        case .other(let kind): FileResult(path, .other, kind)
        case .unreadable(let error): FileResult(path, error)
        }
      if result.outcome != .other { isKnown = true }
      report.add(result)
    }
    // A folder in which all files have other formats is an error, because the path is probably wrong.
    if !isKnown {
      report.add(FileResult(folder, .missing, "the folder contains no archive, store, keyed archive or property list"))
    }
  }

  /// - Parameter isNamed: whether the user specified the file itself, not only its folder. A file in an unknown format
  ///   is a failure only in this case.
  private func result(_ path: String, _ progress: String, isNamed: Bool, _ console: Console) -> FileResult {
    console.progress("\(progress) \(path.onOneLine)")
    do {
      let file = try InputFile(DataFile(path), console)
      if file.isStore { return try storeResult(path) }
      if case .other(let found) = file.format, !isNamed { return FileResult(path, .other, found) }
      var line = ProgressLine(console, progress, path, total: try file.size)
      return console.models.verify(file, limits: limits.limits) { line.show($0) }
    } catch { return FileResult(path, error) }
  }

  /// Verifies a store by reading every revision.
  private func storeResult(_ path: String) throws -> FileResult {
    let (report, size) = try ToolError.at(path) {
      var options = StoreOptions()
      options.isReadOnly = true
      options.limits = limits.limits
      let store = try SnapshotStore(url: DataFile(path).url, options: options)
      let report = try store.check(.full)
      try store.close()
      return (report, try OpenFile(reading: DataFile(path).url).status().size)
    }
    guard let finding = report.findings.first else {
      return FileResult(
        path,
        FileResult.Content(kind: "store", count: UInt64(report.checkedRevisions), noun: "revision", size: size))
    }
    let count = (report.findings.count + report.omittedFindings).counted("finding")
    return FileResult(path, .damaged, "\(finding); to list \(count), run strata store check --full")
  }
}

extension ToolModels {
  /// Reads a file from start to end. If it is an archive of one of the program's models, also decodes it.
  ///
  /// - Parameter progress: called for each member of a stream, with the number of bytes that have been read.
  func verify(_ file: InputFile, limits: ArchiveLimits, progress: (Int) -> Void = { _ in }) -> FileResult {
    do {
      switch file.format {
      case .archive:
        // An empty file is reported as damaged and not as a different format, because it may be a truncated archive.
        guard try !file.isEmpty else { return FileResult(file.path, .damaged, "the file is empty") }
        let walk = try file.walk(limits: limits, progress: progress) { _, _ in }
        var content = Self.content(walk)
        if let type = walk.first.flatMap({ self.type(of: $0) }) {
          do { content.add(type, try decode(file, as: type, limits: limits) { _ in }) } catch {
            return FileResult(file.path, error, isIntact: true)
          }
        }
        return FileResult(file.path, content)
      case .propertyList(let isBinary):
        return FileResult(file.path, Self.content(try file.legacyDocument(isBinary: isBinary, limits: limits)))
      case .other(let found): throw InputFile.unknown(found)
      }
    } catch { return FileResult(file.path, error) }
  }

  private static func content(_ walk: ArchiveWalk) -> FileResult.Content {
    FileResult.Content(
      kind: walk.first?.kind == .single ? "archive" : "stream", type: walk.first?.typeName,
      modelVersion: walk.first?.modelVersion, count: walk.count, noun: "value", size: walk.fileSize)
  }

  private static func content(_ document: LegacyDocument) -> FileResult.Content {
    FileResult.Content(
      kind: document.kind, count: UInt64(document.objectCount), noun: "object", size: document.size)
  }
}
