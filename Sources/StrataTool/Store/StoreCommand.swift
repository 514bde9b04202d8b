internal import ArgumentParser

/// The command `strata store`, which groups the commands for stores.
struct StoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store",
    abstract: "Keep archives and JSON documents in a store, in which each save is a revision.",
    discussion: "Docs/Store.md is about stores, Docs/Tool.md about these commands and their JSON.",
    subcommands: [
      StoreInitCommand.self, StoreImportCommand.self, StoreSaveCommand.self, StoreShowCommand.self,
      StoreListCommand.self, StoreHistoryCommand.self, StoreDiffCommand.self, StoreLabelCommand.self,
      StoreRestoreCommand.self, StoreUndoCommand.self, StoreRedoCommand.self, StoreDeleteCommand.self,
      StoreExportCommand.self, StoreCheckCommand.self, StoreSalvageCommand.self, StoreBackupCommand.self,
      StoreStatusCommand.self, StoreUpgradeCommand.self, StorePruneCommand.self,
    ])
}
