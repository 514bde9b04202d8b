internal import ArgumentParser

/// The `strata store` command, which groups the commands for stores.
struct StoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store",
    abstract: "Manage a store, which keeps every saved archive or JSON document as a revision.",
    discussion: "Docs/Store.md describes stores. Docs/Tool.md describes these commands and their JSON output.",
    subcommands: [
      StoreInitCommand.self, StoreImportCommand.self, StoreSaveCommand.self, StoreShowCommand.self,
      StoreListCommand.self, StoreHistoryCommand.self, StoreDiffCommand.self, StoreLabelCommand.self,
      StoreRestoreCommand.self, StoreUndoCommand.self, StoreRedoCommand.self, StoreDeleteCommand.self,
      StoreExportCommand.self, StoreCheckCommand.self, StoreSalvageCommand.self, StoreBackupCommand.self,
      StoreStatusCommand.self, StoreUpgradeCommand.self, StorePruneCommand.self,
    ])
}
