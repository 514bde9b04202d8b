internal import ArgumentParser

/// The root command.
struct StrataCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "strata",
    abstract: "Versioned archives: make them, open them, look into them, merge and store them.",
    version: "strata \(Tool.version)",
    groupedSubcommands: [
      CommandGroup(
        name: "Archives",
        subcommands: [
          EncodeCommand.self, DecodeCommand.self, InspectCommand.self, VerifyCommand.self, UpgradeCommand.self,
          SalvageCommand.self, ConvertCommand.self, DiffCommand.self, MergeCommand.self,
        ]),
      CommandGroup(name: "Stores", subcommands: [StoreCommand.self]),
      CommandGroup(name: "Many archives", subcommands: [IndexCommand.self, WorkerCommand.self]),
      CommandGroup(name: "Development", subcommands: [TourCommand.self, SchemaCommand.self]),
    ])

  // For the help text only: `ColourChoice.extract(from:)` removes the option before parsing, for every command.
  @Option(help: "Colours: auto, on a terminal alone; always; or never. Any command takes it.")
  var color = ColourChoice.auto
}
