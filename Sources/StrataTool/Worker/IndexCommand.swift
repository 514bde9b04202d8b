internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct IndexCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "index", abstract: "Write the offsets of the members of a stream to a file beside it.",
    discussion: """
      The stream is read to its end, so that the index is complete. Its first line has the type, the version and the size of \
      the stream; each other line has the offset, the length and the number of models of a member, with tabs between them. \
      A worker reads a member by its range (Docs/Worker.md).

      Example:

        strata index issues.strata
      """)

  @Argument(help: "The stream.", completion: .file())
  var file: String

  @Option(
    name: .shortAndLong, help: "The file to write; by default FILE.index. - is standard output.", completion: .file())
  var output: String?

  func run(on console: Console) throws -> Int32 {
    var first: Stamp?
    var lines: [String] = []
    let url = DataFile(file).url
    try ToolError.at(file) {
      var members = try StreamMembers(of: url)
      var (start, isMember) = (members.offset, false)
      while let count = try members.next(
        { stamp, _, _ in
          guard stamp.kind != .single else {
            throw ArchiveError(
              .typeMismatch,
              "the archive cannot be indexed because it contains a single value, not a "
                + "stream", typeName: stamp.typeName)
          }
          first = first ?? stamp
          isMember = stamp.kind == .member
          return Int(clamping: stamp.count)
        }, count: { $0 })
      {
        if isMember { lines.append("\(start)\t\(members.offset - start)\t\(count)") }
        start = members.offset
      }
      let version = first?.modelVersion.map { "\($0)" } ?? "-"
      lines.insert("strata-index\t1\t\((first?.typeName ?? "").onOneLine)\t\(version)\t\(start)", at: 0)
    }
    try DataFile(output ?? file + ".index").write(Data((lines.joined(separator: "\n") + "\n").utf8), console)
    return 0
  }
}
