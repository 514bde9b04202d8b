import Foundation
import StrataCore
import StrataTool
import Testing

/// The result of one run of the tool.
struct Run {
  let code: Int32
  let output: Data
  let error: String

  var text: String { String(decoding: output, as: UTF8.self) }

  /// Runs a command in this process.
  init(_ arguments: String..., input: Data = Data()) { self.init(arguments, input: input) }

  /// - Parameters:
  ///   - terminal: the width of the terminal in columns, or `nil` if the streams are not a terminal.
  ///   - models: the models of the app whose tool runs.
  init(
    _ arguments: [String], input: Data = Data(), terminal: Int? = nil, environment: [String: String] = [:],
    models: [any VersionedModel.Type] = []
  ) {
    var output = Data()
    var error = Data()
    var console = Console(
      read: { input }, write: { output.append($0) }, writeError: { error.append($0) }, width: terminal ?? 100,
      isTerminal: terminal != nil, showsProgress: terminal != nil, environment: environment)
    console.models = ToolModels(models)
    code = Tool.run(arguments, on: console)
    self.output = output
    self.error = String(decoding: error, as: UTF8.self)
  }

  /// Checks that the command failed with one line on standard error and nothing on standard output.
  func expectFailure(
    code: Int32 = 1, _ fragments: String..., at location: SourceLocation = #_sourceLocation
  ) {
    #expect(self.code == code, sourceLocation: location)
    #expect(output.isEmpty, sourceLocation: location)
    #expect(error.hasPrefix("strata: "), "\(error)", sourceLocation: location)
    #expect(
      error.filter { $0 == "\n" }.count == 1 && error.last == "\n", "\(error)", sourceLocation: location)
    for fragment in fragments {
      #expect(error.contains(fragment), "\(error)", sourceLocation: location)
    }
  }
}
