internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct IndexCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "index", abstract: "Write an index of the members of a stream to a file.",
    discussion: """
      The first line of the index contains the type, the model version and the size of the stream. Each other line \
      contains the offset, the length and the number of models of one member. The values in a line are separated by \
      tabs. With the index, a worker can read each member separately (see Docs/Worker.md).

      Example:

        strata index issues.strata
      """)

  @Argument(help: "The stream to index.", completion: .file())
  var file: String

  @Option(
    name: .shortAndLong,
    help: "The index to write, or - for standard output. By default, the path of the stream followed by .index.",
    completion: .file())
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
