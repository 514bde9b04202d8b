internal import ArgumentParser

/// The root command `strata`.
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

  // This property exists only for the help text. `ColourChoice.extract(from:)` removes the option from the arguments of
  // every command before they are parsed.
  @Option(help: "Colours: auto, on a terminal alone; always; or never. Any command takes it.")
  var color = ColourChoice.auto
}
