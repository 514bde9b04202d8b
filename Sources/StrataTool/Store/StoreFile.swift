internal import ArgumentParser
internal import Foundation
internal import StrataCore
internal import StrataStore

/// The store on which a command operates.
struct StoreFile: ParsableArguments {
  enum Access {
    /// The command only reads, and the store is opened read-only.
    case reads
    case writes
    /// The command writes and creates the store if the file does not exist.
    case makes
  }

  @Argument(help: ArgumentHelp("The path of the store.", valueName: "store"), completion: .file())
  var path: String

  @Flag(help: "Print the result as a JSON document.")
  var json = false

  @Option(help: "The number of seconds to wait while another process holds the lock.")
  var wait = 5.0

  @OptionGroup(title: "Limits")
  var limits: LimitOptions

  func validate() throws {
    if path.isEmpty { throw ValidationError("the path of the store is empty; specify a path") }
    if path == "-" { throw ValidationError("the store must be a file; standard input is not supported") }
    guard wait >= 0, wait <= 86_400 else { throw ValidationError("--wait must be between 0 and 86,400 seconds") }
  }

  /// Whether any item exists at the path.
  var exists: Bool {
    get throws { try ToolError.at(path) { try FileStatus(ofPath: path) != nil } }
  }

  /// Returns whether a database is a store. Also returns true for a store that cannot be opened.
  static func isStore(_ path: String) -> Bool {
    var options = StoreOptions()
    options.isReadOnly = true
    do {
      try SnapshotStore(url: URL(fileURLWithPath: path), options: options).close()
      return true
    } catch let error as StoreError { return error.code != .notAStore && error.code != .readOnly } catch { return true }
  }

  /// Opens the store, runs `body`, and closes the store. Errors name the path of the store.
  func use<R>(_ access: Access, _ body: (SnapshotStore) throws -> R) throws -> R {
    try atFile(access) { url, options in
      let store = try SnapshotStore(url: url, options: options)
      let result = try body(store)
      try store.close()
      return result
    }
  }

  /// Checks the path, then runs `body` with the URL and options for opening the store.
  func atFile<R>(_ access: Access, _ body: (URL, StoreOptions) throws -> R) throws -> R {
    // Only `makes` creates a store, because a new empty store at a wrong path would go unnoticed.
    guard try access == .makes || exists else {
      throw ToolError("\(path): the file does not exist; create a store with strata store init")
    }
    guard !path.hasSuffix("/"), !FileTree.isFolder(path) else {
      throw ToolError("\(path): the path is a folder, but a store is a file; pass the path of the file")
    }
    return try ToolError.at(path) {
      var options = StoreOptions()
      options.isReadOnly = access == .reads
      options.busyTimeout = wait
      options.limits = limits.limits
      return try body(URL(fileURLWithPath: path), options)
    }
  }

  /// Prints the document if `--json` was given, and otherwise the lines.
  func show(_ document: @autoclosure () -> ArchiveValue, _ lines: @autoclosure () -> [String], _ console: Console)
    throws
  {
    if json { return try show(document(), console) }
    try console.lines(lines())
  }

  func show(_ document: ArchiveValue, _ console: Console) throws {
    try console.write(ToolError.at(path) { try document.jsonText() })
  }
}

/// The key on which a command operates.
struct StoreKey: ParsableArguments {
  @Argument(help: ArgumentHelp("The key of the value in the store.", valueName: "key"))
  var name: String
}

/// The author of a change, and the reason for it.
struct StoreNote: ParsableArguments {
  @Option(help: "The author of the change, recorded in the history.")
  var author: String?

  @Option(help: "The reason for the change, recorded in the history.")
  var note: String?
}

/// The arguments of a command that changes one key.
struct StoreChange: ParsableArguments {
  @OptionGroup var store: StoreFile

  @OptionGroup var key: StoreKey

  @OptionGroup var attribution: StoreNote

  /// Runs `make` in a transaction and prints the new revision.
  func run(on console: Console, _ make: (StoreTransaction) throws -> StoreRevision) throws -> Int32 {
    let revision = try store.use(.writes) { try $0.write(make) }
    try store.show(revision.json, [revision.line], console)
    return 0
  }
}
