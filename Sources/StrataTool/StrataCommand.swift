internal import ArgumentParser

/// What precedes the name of a command.
struct StrataCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "strata",
    abstract: "Versioned archives: make them, open them, look into them, merge and store them.",
    version: "strata \(Tool.version)",
    subcommands: [
      TourCommand.self, EncodeCommand.self, DecodeCommand.self, InspectCommand.self, VerifyCommand.self,
      SalvageCommand.self, ConvertCommand.self, DiffCommand.self, MergeCommand.self, StoreCommand.self,
    ])

  // It is taken out of the arguments before they are parsed, so that every command has it; here it is for the help.
  @Option(help: "Colours: auto, on a terminal alone; always; or never. Any command takes it.")
  var color = ColourChoice.auto
}
