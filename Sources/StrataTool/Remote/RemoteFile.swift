internal import ArgumentParser
internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataRemote
internal import StrataStore

/// The database that is refreshed, and whose documents are changed.
struct RemoteFile: ParsableArguments {
  @Option(
    help: ArgumentHelp("The database with the documents, a file of SQLite.", valueName: "file"), completion: .file())
  var store: String

  @Option(help: "Whose changes are made and sent.")
  var account = ""

  @Flag(help: "Print one JSON document.")
  var json = false

  @Option(help: "Seconds to wait for others who write.")
  var wait = 5.0

  func validate() throws {
    if store.isEmpty || store == "-" { throw ValidationError("--store needs the path of a file.") }
    guard wait >= 0, wait <= 86_400 else { throw ValidationError("--wait is from 0 to 86400 seconds.") }
  }

  /// Opens the database.
  ///
  /// - Parameter makes: whether a new one is made where there is no file.
  func open(makes: Bool = false) throws -> DatabaseQueue {
    let status = try ToolError.at(store) { try FileStatus(ofPath: store) }
    guard makes || status != nil else {
      throw ToolError("\(store): there is no file; strata refresh makes one")
    }
    guard !store.hasSuffix("/"), !FileTree.isFolder(store) else {
      throw ToolError("\(store): names a folder, and --store is a file")
    }
    return try Self.at(store) {
      var configuration = Configuration()
      configuration.busyMode = .timeout(wait)
      return try DatabaseQueue(path: store, configuration: configuration)
    }
  }

  /// The documents that the database has, by the names of their tables.
  func documents(_ queue: DatabaseQueue) throws -> [String] {
    try Self.at(store) {
      try queue.read { db in
        guard try db.tableExists("strata_remote_records") else { return [] }
        let names = try String.fetchAll(
          db,
          sql: """
            SELECT entity FROM strata_remote_records UNION SELECT entity FROM strata_remote_changes
            UNION SELECT entity FROM strata_remote_conflicts ORDER BY entity
            """)
        let documents = try names.filter { name in
          try db.tableExists(name) && db.columns(in: name).map(\.name) == ["id", "value"]
        }
        // "No changes" would be wrong of them.
        guard documents.count == names.count else {
          throw ToolError(
            "\(store): it has records of an app's own models; their changes and conflicts are listed and resolved by the app"
          )
        }
        return documents
      }
    }
  }

  /// What reads and changes documents without asking a server.
  func offline(_ queue: DatabaseQueue, _ names: [String]) async throws -> RemoteStore {
    guard let url = URL(string: "http://localhost") else { throw ToolError("there is no such URL") }
    var configuration = RemoteConfiguration(baseURL: url, transport: NoTransport())
    configuration.mappers = names.map { EntityMapper(named: $0) }
    return try await RemoteStore(EntityStore(queue, documents: names), configuration, account: account)
  }

  /// Runs `body`, whose failures concern the database or the server.
  static func at<R>(_ path: String, _ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as RemoteError {
      throw ToolError(error.code == .store ? "\(path): \(error.description)" : error.description)
    } catch let error as EntityError {
      throw ToolError("\(path): \(error.description)")
    } catch let error as DatabaseError {
      throw ToolError(
        "\(path): \(error.message ?? "the database refuses") (SQLite \(error.extendedResultCode.rawValue))")
    } catch { throw ToolError(path, error) }
  }

  /// Prints a document, or the lines where JSON was not asked for.
  func show(_ document: @autoclosure () -> ArchiveValue, _ lines: @autoclosure () -> [String], _ console: Console)
    throws
  {
    guard json else {
      for line in lines() { try console.line(line.onOneLine) }
      return
    }
    var data = try ToolError.at(store) { try JSONWriter(isPretty: true).write(document()) }
    data.append(UInt8(ascii: "\n"))
    try console.write(data)
  }
}

/// For commands that ask no server.
private struct NoTransport: HTTPTransport {
  func send(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse {
    throw RemoteError(.notConnected, "this command asks no server; strata refresh does")
  }
}
