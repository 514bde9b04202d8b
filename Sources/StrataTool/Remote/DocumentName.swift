internal import ArgumentParser

/// The name of an entity whose records are documents, and of their table.
struct DocumentName: ParsableArguments {
  @Option(help: ArgumentHelp("The name of the entity, and of its table.", valueName: "name"))
  var entity: String

  func validate() throws {
    let name = entity.lowercased()
    if name.isEmpty || name.hasPrefix("strata_") || name.hasPrefix("sqlite_") {
      throw ValidationError("--entity is a name that does not begin with strata_ or sqlite_.")
    }
  }
}
