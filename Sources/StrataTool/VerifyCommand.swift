internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct VerifyCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Read files from end to end and tell whether they are intact.",
    discussion: """
      The files are archives, keyed archives of Foundation or property lists. Of a folder all files are read, those in \
      its folders too, and files of other kinds are passed over with a line.
      """)

  @Argument(help: "The files or folders; - is standard input.")
  var files: [String]

  @OptionGroup(title: "Limits")
  var limits: LimitOptions

  func run(on console: Console) throws -> Int32 {
    var isIntact = true
    for (place, path) in files.enumerated() {
      if path != "-", FileTree.isFolder(path) {
        try verify(folder: path, console, &isIntact)
      } else {
        try verify(path, "\(place + 1)/\(files.count)", isNamed: true, console, &isIntact)
      }
    }
    return isIntact ? 0 : 1
  }

  private func verify(folder: String, _ console: Console, _ isIntact: inout Bool) throws {
    let root = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
    let items: [(path: String, item: FileTree.Item)]
    do { items = try FileTree(root).items.filter { !FileTree.isUnfinished($0.path) } } catch {
      return try damage(folder, error, console, &isIntact)
    }
    var found = 0
    for (place, (name, item)) in items.enumerated() {
      let path = root + "/" + name
      switch item {
      case .file:
        if try verify(path, "\(place + 1)/\(items.count)", isNamed: false, console, &isIntact) { found += 1 }
      case .other(let kind): try console.line("other  \(path.onOneLine)  \(kind)")
      case .unreadable(let error): try damage(path, error, console, &isIntact)
      }
    }
    // Nothing damaged among nothing would be a wrong path that looks right.
    if found == 0 {
      try damage(folder, ToolError("no archive, keyed archive or property list is in this folder"), console, &isIntact)
    }
  }

  /// - Parameter isNamed: whether the file was asked for by name, so that another format is a failure.
  /// - Returns: whether it was of a format that is known.
  @discardableResult
  private func verify(
    _ path: String, _ progress: String, isNamed: Bool, _ console: Console, _ isIntact: inout Bool
  ) throws -> Bool {
    console.progress("\(progress) \(path.onOneLine)")
    let result: String
    var isKnown = true
    do {
      let file = try InputFile(DataFile(path), console)
      switch file.kind {
      case .archive: result = "ok  \(path.onOneLine)  " + Self.summary(try file.walk(limits: limits.limits) { _, _ in })
      case .propertyList(let isBinary):
        result =
          "ok  \(path.onOneLine)  " + Self.summary(try file.legacyDocument(isBinary: isBinary, limits: limits.limits))
      case .other(let found):
        guard !isNamed else { throw InputFile.unknown(found) }
        (result, isKnown) = ("other  \(path.onOneLine)  \(found)", false)
      }
    } catch {
      try damage(path, error, console, &isIntact)
      return true
    }
    console.clearProgress()
    try console.line(result)
    return isKnown
  }

  private func damage(_ path: String, _ error: any Error, _ console: Console, _ isIntact: inout Bool) throws {
    isIntact = false
    console.clearProgress()
    try console.line("damaged  \(path.onOneLine)  " + Self.reason(error, path))
  }

  private static func summary(_ walk: ArchiveWalk) -> String {
    let type = walk.first.map(\.mark)?.onOneLine ?? ""
    return "\(type)  \(walk.count.counted("value"))  \(walk.fileSize.counted("byte"))"
  }

  private static func summary(_ document: LegacyDocument) -> String {
    "\(document.kind)  \(document.objectCount.counted("object"))  \(document.size.counted("byte"))"
  }

  /// The message without the path, which the line names already.
  private static func reason(_ error: any Error, _ path: String) -> String {
    let message = ToolError.message(of: error)
    let start = (path == "-" ? "standard input" : path).onOneLine + ": "
    return message.hasPrefix(start) ? String(message.dropFirst(start.count)) : message
  }
}
