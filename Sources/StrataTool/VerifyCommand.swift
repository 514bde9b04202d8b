internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct VerifyCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Read archives from end to end and tell whether they are intact.")

  @Argument(help: "The archives; - is standard input.")
  var files: [String]

  func run(on console: Console) throws -> Int32 {
    var isIntact = true
    for (place, path) in files.enumerated() {
      console.progress("\(place + 1)/\(files.count) \(path.onOneLine)")
      let result: String
      do {
        let walk = try ArchiveWalk.walk(DataFile(path), console) { _, _ in }
        result = "ok  \(path.onOneLine)  " + Self.summary(walk)
      } catch {
        isIntact = false
        result = "damaged  \(path.onOneLine)  " + Self.reason(error, path)
      }
      console.clearProgress()
      try console.line(result)
    }
    return isIntact ? 0 : 1
  }

  private static func summary(_ walk: ArchiveWalk) -> String {
    let type = walk.first.map(\.mark)?.onOneLine ?? ""
    return "\(type)  \(walk.count.counted("value"))  \(walk.fileSize.counted("byte"))"
  }

  /// The message without the path, which the line names already.
  private static func reason(_ error: any Error, _ path: String) -> String {
    let message = ToolError.message(of: error)
    let start = (path == "-" ? "standard input" : path).onOneLine + ": "
    return message.hasPrefix(start) ? String(message.dropFirst(start.count)) : message
  }
}
