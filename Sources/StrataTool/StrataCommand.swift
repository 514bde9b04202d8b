internal import ArgumentParser

/// The root command, `strata`.
struct StrataCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "strata",
    abstract: "Create, inspect, convert, merge and store versioned archives.",
    version: "strata \(Tool.version)",
    groupedSubcommands: [
      CommandGroup(
        name: "Archives",
        subcommands: [
          EncodeCommand.self, DecodeCommand.self, InspectCommand.self, VerifyCommand.self, UpgradeCommand.self,
          SalvageCommand.self, ConvertCommand.self, DiffCommand.self, MergeCommand.self,
        ]),
      CommandGroup(name: "Stores", subcommands: [StoreCommand.self]),
      CommandGroup(name: "Bulk processing", subcommands: [IndexCommand.self, WorkerCommand.self]),
      CommandGroup(name: "Development", subcommands: [TourCommand.self, SchemaCommand.self]),
    ])

  // This property exists only for the help text. `ColourChoice.extract(from:)` removes the option from the arguments of
  // every command before they are parsed.
  @Option(help: "When to use colours: auto (only on a terminal), always or never. Every command accepts this option.")
  var color = ColourChoice.auto
}
