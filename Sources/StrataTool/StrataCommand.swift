internal import ArgumentParser

/// What precedes the name of a command.
struct StrataCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "strata",
    abstract: "Versioned archives: make them, open them, look into them, merge, store and refresh them.",
    subcommands: [
      TourCommand.self, EncodeCommand.self, DecodeCommand.self, InspectCommand.self, VerifyCommand.self,
      SalvageCommand.self, ConvertCommand.self, DiffCommand.self, MergeCommand.self, StoreCommand.self,
      RefreshCommand.self, EditCommand.self, ChangesCommand.self, ConflictsCommand.self, ServeCommand.self,
    ])
}
