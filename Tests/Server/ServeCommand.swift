internal import ArgumentParser
internal import Foundation
internal import StrataCore

/// `swift run strata-serve`: a server for trying out refreshes.
package enum StrataServe {
  /// Parses the arguments of the process and runs the server until it is interrupted.
  package static func main() { ServeCommand.main() }
}

struct ServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "strata-serve", abstract: "Serve JSON records at a port of this machine, to try refreshing with.",
    discussion: """
      Changes are forgotten when it stops, unless --write says otherwise. Tests/Server/README.md has the routes.

      Example:

        strata-serve Fixtures/remote --port 8080
      """)

  @Argument(
    help: "A folder with a file NAME.json for each list: an array of objects, each with an id.", completion: .directory)
  var folder: String

  @Option(help: "The port; 0 for one that the system chooses.")
  var port: UInt16 = 8080

  @Option(help: ArgumentHelp("How long each answer waits.", valueName: "milliseconds"))
  var latency = 0

  @Option(help: ArgumentHelp("The share of requests that fail with 503, from 0 to 1.", valueName: "share"))
  var fail = 0.0

  @Option(help: "Which requests fail: the same ones for the same seed.")
  var seed: UInt64 = 1

  @Option(help: ArgumentHelp("What requests must bring as Authorization: Bearer.", valueName: "text"))
  var token: String?

  @Option(
    help: ArgumentHelp("For how long answers are fresh; else they must be asked for again.", valueName: "seconds"))
  var maxAge: Int?

  @Option(help: ArgumentHelp("Answer lists in pages of this size, also where none is asked for.", valueName: "count"))
  var pageSize: Int?

  @Flag(help: "Write changes to the files of the folder.")
  var write = false

  @Flag(name: .shortAndLong, help: "No log.")
  var quiet = false

  func validate() throws {
    guard 0...600_000 ~= latency else { throw ValidationError("--latency is from 0 to 600000 milliseconds.") }
    guard 0...1 ~= fail else { throw ValidationError("--fail is from 0 to 1.") }
    if let maxAge, maxAge < 0 { throw ValidationError("--max-age is from 0 on.") }
    if let pageSize, pageSize < 1 { throw ValidationError("--page-size is from 1 on.") }
    // A token in a header can contain only visible ASCII characters (RFC 9110, section 11.2).
    if let token, token.isEmpty || !token.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) {
      throw ValidationError("--token is of letters, digits and marks in ASCII, without spaces.")
    }
  }

  func run() throws {
    let files = try ServedFolder(folder)
    let server = ResourceServer(
      files.lists, options: ResourceOptions(token: token, maxAge: maxAge, pageSize: pageSize),
      faults: ServeFaults(share: fail, seed: seed), storage: write ? files : nil, now: { Date() },
      makeID: { UUID().uuidString.lowercased() })
    let lists = server.lists.map { "\($0.name.onOneLine) (\($0.records.count))" }.joined(separator: ", ")
    let events = ServeEvents()
    let listener = ServeListener(server, port: port, latency: .milliseconds(latency), events: events)
    let signals = ServeSignals { events.send(.interrupted) }
    let task = Task {
      do {
        try await listener.run()
        events.send(.ended(nil))
      } catch { events.send(.ended(error)) }
    }
    defer { withExtendedLifetime(signals) { task.cancel() } }
    while true {
      switch events.next() {
      case .listening(let port):
        // Writes the line without buffering, because programs wait for it.
        FileHandle.standardOutput.write(
          Data("serving \(lists) at http://127.0.0.1:\(port)\(ResourceRoute.root)\n".utf8))
      case .answered(let line): if !quiet { FileHandle.standardError.write(Data((line.onOneLine + "\n").utf8)) }
      case .interrupted: task.cancel()
      case .ended(nil): return
      case .ended(let error?): throw error
      }
    }
  }
}
