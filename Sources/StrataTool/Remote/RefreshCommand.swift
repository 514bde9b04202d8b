internal import ArgumentParser
internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataRemote
internal import StrataStore

struct RefreshCommand: ToolCommand {
  enum Pages: String, ExpressibleByArgument, CaseIterable { case link, page, offset, none }

  static let configuration = CommandConfiguration(
    commandName: "refresh", abstract: "Fold what a server says into a database.",
    discussion: """
      The records of the entity become documents: rows of a table of its name, with the columns id and value. What strata \
      edit changed of them stays, and goes to the server with --send. Exits with 1 where values are in conflict, which \
      strata conflicts lists. Docs/Refresh.md is the guide.

      Example:

        strata refresh http://127.0.0.1:8080/api --store tasks.store --entity task
      """)
  static let failureCode: Int32 = 2

  @Argument(help: ArgumentHelp("Where all paths begin, as http://127.0.0.1:8080/api.", valueName: "url"))
  var url: String

  @OptionGroup var file: RemoteFile

  @OptionGroup var name: DocumentName

  @Option(help: "The path of the list, unless it is the name in lower case and s.")
  var path: String?

  @Option(help: ArgumentHelp("Where a record has its id, unless it is id, _id, identifier or url.", valueName: "keys"))
  var id: String?

  @Option(help: ArgumentHelp("Ask for one record.", valueName: "id"))
  var one: String?

  @Option(help: "How pages of the list follow each other: link, page, offset or none.")
  var pages = Pages.link

  @Option(help: ArgumentHelp("How many records a page has, for page and offset.", valueName: "count"))
  var pageSize = 100

  @Flag(help: "Keep records that the server no longer has.")
  var keepMissing = false

  @Flag(help: "Ask for all of it, whatever is kept of earlier answers.")
  var reload = false

  @Flag(help: "First send what was changed here.")
  var send = false

  @Option(
    help: ArgumentHelp("Sent as Authorization: Bearer; the variable STRATA_TOKEN unless given.", valueName: "text"))
  var token: String?

  @Option(help: ArgumentHelp("A header of each request, NAME: VALUE.", valueName: "line"))
  var header: [String] = []

  @Option(help: ArgumentHelp("How long one try may take.", valueName: "seconds"))
  var timeout = 60.0

  @Flag(help: "Print the documents as one JSON array: after the answer, or where there is none, what is kept.")
  var print = false

  func validate() throws {
    guard let parts = URLComponents(string: url), ["http", "https"].contains(parts.scheme?.lowercased() ?? ""),
      !(parts.host ?? "").isEmpty
    else { throw ValidationError("the URL is one of http or https, and names a host.") }
    guard timeout > 0, timeout <= 86_400 else { throw ValidationError("--timeout is from 0 to 86400 seconds.") }
    guard pageSize >= 1 else { throw ValidationError("--page-size is from 1 on.") }
    if print, file.json { throw ValidationError("--print prints JSON already; leave out --json.") }
    for line in header where line.firstIndex(of: ":") == nil {
      throw ValidationError("--header is NAME: VALUE.")
    }
  }

  func run(on console: Console) throws -> Int32 {
    let queue = try file.open(makes: true)
    let configuration = try remoteConfiguration()
    let (entity, account, send) = (name.entity, file.account, send)
    var request = one.map { RemoteRequest.one($0) } ?? .all
    if reload { request.policy = .reload }
    let known = request
    let remote = try RemoteFile.at(file.store) {
      try queue.write { db in try EntityDocument.makeTable(entity, in: db) }
      return try waiting {
        try await RemoteStore(EntityStore(queue, documents: [entity]), configuration, account: account)
      }
    }
    do {
      let (sending, refresh) = try RemoteFile.at(file.store) {
        try waiting {
          (send ? try await remote.send() : nil, try await remote.refresh(entity, known))
        }
      }
      let conflicts = try conflicts(remote)
      if print {
        try printDocuments(remote, console)
      } else {
        try file.show(document(sending, refresh, conflicts), lines(sending, refresh, conflicts), console)
      }
      return conflicts > 0 ? 1 : 0
    } catch {
      // What is kept is there without the server.
      if print { try printDocuments(remote, console) }
      throw error
    }
  }

  private func remoteConfiguration() throws -> RemoteConfiguration {
    guard let base = URL(string: url) else { throw ToolError("the URL cannot be read") }
    let pagination: RemotePagination =
      switch pages {
      case .link: .linkHeader
      case .page: .page(of: pageSize)
      case .offset: .offset(of: pageSize)
      case .none: .none
      }
    let mapper = EntityMapper(
      named: name.entity, id: id.map { ValuePath(parsing: $0) }, path: path, missing: keepMissing ? .keep : nil,
      pagination: pagination)
    var configuration = RemoteConfiguration(baseURL: base, mappers: mapper)
    configuration.timeout = .seconds(timeout)
    for line in header {
      let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      configuration.headers.add(parts[0], parts.count > 1 ? parts[1] : "")
    }
    if let token = token ?? ProcessInfo.processInfo.environment["STRATA_TOKEN"] {
      configuration.authentication = { _ in .bearer(token: { token }) }
    }
    return configuration
  }

  private func conflicts(_ remote: RemoteStore) throws -> Int {
    let entity = name.entity
    return try RemoteFile.at(file.store) {
      try waiting { try await remote.conflicts().count { $0.entity == entity } }
    }
  }

  private func printDocuments(_ remote: RemoteStore, _ console: Console) throws {
    let entity = name.entity
    let documents = try RemoteFile.at(file.store) { try waiting { try await remote.cached(entity) } }
    var text = JSONText(isPretty: true)
    for document in documents { try text.append(document.value, inArray: true) }
    text.closeArray()
    try console.write(text.data + Data("\n".utf8))
  }

  // MARK: What is told

  private func lines(_ sending: RemoteSending?, _ refresh: RemoteRefresh, _ conflicts: Int) -> [String] {
    var lines: [String] = []
    if let sending {
      let parts = [(sending.sent, "sent"), (sending.refused, "refused"), (sending.waiting, "waiting")]
        .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
      lines.append("\(name.entity)  \(parts.isEmpty ? "nothing to send" : parts.joined(separator: ", "))")
    }
    lines.append("\(name.entity)  \(refresh)")
    if conflicts > 0 {
      lines.append("\(name.entity)  \(conflicts) in conflict: strata conflicts --store \(file.store)")
    }
    return lines
  }

  private func document(_ sending: RemoteSending?, _ refresh: RemoteRefresh, _ conflicts: Int) -> ArchiveValue {
    func number(_ value: Int) -> ArchiveValue { .int(Int64(value)) }
    var object = ArchiveObject([
      .init(key: "entity", value: .string(name.entity)),
      .init(key: "outcome", value: .string(refresh.outcome.rawValue)),
      .init(key: "ids", value: .array(refresh.ids.map { .string($0) })),
      .init(key: "inserted", value: number(refresh.inserted)),
      .init(key: "updated", value: number(refresh.updated)),
      .init(key: "unchanged", value: number(refresh.unchanged)),
      .init(key: "deleted", value: number(refresh.deleted)),
      .init(key: "kept", value: number(refresh.kept)),
      .init(key: "pages", value: number(refresh.pages)),
      .init(key: "conflicts", value: number(conflicts)),
    ])
    if let sending {
      object["sent"] = number(sending.sent)
      object["refused"] = number(sending.refused)
      object["waiting"] = number(sending.waiting)
    }
    return .object(object)
  }
}
