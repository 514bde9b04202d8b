import Foundation
import PackagePlugin

/// The package plugin for the command `swift package strata-schema check Tests/AppTests/Schemas`. It builds the app's tool from the
/// package and runs it with the arguments `schema check`.
@main
struct StrataSchemaPlugin: CommandPlugin {
  func performCommand(context: PluginContext, arguments: [String]) async throws {
    var arguments = ArgumentExtractor(arguments)
    let named = arguments.extractOption(named: "tool")
    let products = context.package.products(ofType: ExecutableProduct.self).map(\.name)
    guard let name = named.first ?? (products.count == 1 ? products.first : nil) else {
      throw PluginError(
        products.first.map {
          "the package has \(products.count) executable products; specify the app's tool with --tool, such as --tool "
            + "\($0)"
        }
          ?? "the package has no executable product; add the app's tool (see “A tool of your own” in Docs/Tool.md)"
      )
    }
    let build = try packageManager.build(.product(name), parameters: .init(logging: .concise))
    let tool = build.builtArtifacts.first {
      $0.kind == .executable && $0.url.deletingPathExtension().lastPathComponent == name
    }
    guard build.succeeded, let tool else {
      throw PluginError("the executable product \(name) could not be built:\n\(build.logText)")
    }
    let process = try Process.run(tool.url, arguments: ["schema"] + arguments.remainingArguments)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw PluginError("the command “\(name) schema” failed with exit code \(process.terminationStatus)")
    }
  }
}

struct PluginError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
