internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreUpgradeCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "upgrade",
    abstract: "Upgrade the tables of a store, and list the models that only an app can upgrade.",
    discussion: """
      The steps and hooks of a model are part of its Swift type, which this tool does not have. Revisions of older \
      versions are therefore not changed, and can still be opened. The command prints the Swift code that upgrades \
      them. The exit code is 0 even if such revisions remain.

      Example:

        strata store upgrade models.store --dry-run
      """)

  @OptionGroup var store: StoreFile

  @Flag(help: "Show what would be upgraded, without changing the store.")
  var dryRun = false

  func run(on console: Console) throws -> Int32 {
    let before = try store.use(.reads) { try $0.status() }
    // Opening a store for writing upgrades its tables, so a dry run does not open it for writing.
    let status = try dryRun ? before : store.use(.writes) { try $0.status() }
    let models = ModelsOfStore(status)
    try store.show(
      [
        "store": .string(store.path), "dryRun": .bool(dryRun), "formatBefore": .integer(before.format),
        "format": .integer(status.format), "models": .array(models.models.map(\.json)),
        "old": .integer(models.old), "swift": .orNull(models.swift),
      ], lines(before, status, models), console)
    return 0
  }

  private func lines(_ before: StoreStatus, _ status: StoreStatus, _ models: ModelsOfStore) -> [String] {
    let change = before.format == status.format ? "\(status.format)" : "\(before.format) to \(status.format)"
    var lines = ["store   \(store.path.onOneLine)", "format  \(change)"]
    guard let swift = models.swift else {
      return lines + ["models  none to upgrade"]
    }
    var table = TextTable(columns: 3)
    for model in models.models {
      table.add([
        "\(model.type)@\(model.version)".onOneLine, model.revisions.counted("revision"),
        model.isOld
          ? "older than version \(model.newest), the newest in this store" : "the newest version in this store",
      ])
    }
    lines += [""] + table.lines + [""]
    return lines + [
      models.old == 0
        ? "All revisions have the newest version in this store. To upgrade to newer versions, run this code in the app:"
        : "To upgrade \(models.old.counted("revision")) of older versions, run this code in the app with these types:",
      "  " + swift.onOneLine,
    ]
  }
}

/// The models in a store, with the versions of their stored revisions.
private struct ModelsOfStore {
  struct Model {
    /// The type name of the archives. The type may be a collection of the model.
    let type: String
    let version: Int
    /// The newest version of the model in the store.
    let newest: Int
    let revisions: Int

    var isOld: Bool { version < newest }

    var json: ArchiveValue {
      [
        "type": .string(type), "modelVersion": .integer(version), "newestInStore": .integer(newest),
        "revisions": .integer(revisions),
      ]
    }
  }

  let models: [Model]
  /// The number of revisions with a model version that is older than the newest version of the same model in the store.
  var old: Int { models.reduce(0) { $0 + ($1.isOld ? $1.revisions : 0) } }
  /// The Swift call that upgrades the store, or `nil` if the store contains no models.
  let swift: String?

  init(_ status: StoreStatus) {
    let types = status.types.compactMap { type in type.modelVersion.map { (type, $0) } }
    let newest = Dictionary(types.map { ($0.0.elementName, $0.1) }, uniquingKeysWith: max)
    models = types.map {
      Model(type: $0.typeName, version: $1, newest: newest[$0.elementName] ?? $1, revisions: $0.revisions)
    }
    swift =
      newest.isEmpty
      ? nil : "try await store.upgrade([\(newest.keys.sorted().map { $0 + ".self" }.joined(separator: ", "))])"
  }
}
