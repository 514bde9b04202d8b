internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct MergeCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "merge", abstract: "Merge two archives or JSON documents, optionally with their common base.",
    discussion: """
      The command prints a table with the outcome at each key path. The table is printed on standard output if \
      --output specifies a file, and otherwise on standard error. The exit code is 0 if there are no conflicts, 1 if \
      conflicts remain, and 2 if the command fails. Docs/Tool.md has an example.

      The tool of an app merges archives of a model with the policies of the model, which --policy overrides. With \
      --type, it also merges JSON documents with the policies and the JSON mapping of a model.

      The rules for --policy are \(MergePolicy.names.joined(separator: ", ")).

      Example:

        strata merge --local mine.json --base old.json --server theirs.json \\
          --policy 'labels=byID(id)' --policy votes=max -o merged.json
      """)

  static var failureCode: Int32 { 2 }

  enum Conflicts: String, CaseIterable, ExpressibleByArgument {
    case local, server, fail
  }

  @Option(help: "The local archive or JSON document, or - for standard input.", completion: .file())
  var local: String

  @Option(help: "The archive or JSON document from the server, or - for standard input.", completion: .file())
  var server: String?

  @Option(
    help: "The server's changes as a JSON Patch (RFC 6902) of the base or, without a base, of the local document.",
    completion: .file(extensions: ["json"]))
  var serverPatch: String?

  @Option(
    help:
      "The server's changes as a JSON Merge Patch (RFC 7396) of the base or, without a base, of the local document.",
    completion: .file(extensions: ["json"]))
  var serverMergePatch: String?

  @Option(
    help: "The base: the last common version of the local and the server's documents, or - for standard input.",
    completion: .file())
  var base: String?

  @Option(help: "The app's model whose policies and JSON mapping are used to merge JSON documents.")
  var type: String?

  @Flag(help: "Skip keys in the local document and in the base that no field of the model reads.")
  var ignoreUnknownKeys = false

  @Option(
    help: ArgumentHelp(
      "A rule for a path, or for all paths without their own rule. This option can be repeated.",
      valueName: "[path=]rule"),
    completion: .list(MergePolicy.names.filter { $0.allSatisfy(\.isLetter) }))
  var policy: [String] = []

  @Option(
    help:
      "The side that wins if no rule resolves a conflict. With fail, the document is not written if conflicts remain."
  )
  var conflicts: Conflicts?

  @Flag(help: "Treat the server's document as partial, so that keys missing from it stay unchanged.")
  var partial = false

  @Option(name: .shortAndLong, help: "The file for the merged document, or - for standard output.", completion: .file())
  var output = "-"

  @Option(
    help: ArgumentHelp(
      "The format of the output: json or strata. By default, the format is determined by the file extension of the "
        + "output, or else by the format of the local document."),
    completion: .list(["json", "strata"]))
  var format: String?

  @Option(
    help: "The .json file for a report on each key path, or - for standard output.",
    completion: .file(extensions: ["json"]))
  var report: String?

  @OptionGroup var page: PageOption

  @Flag(help: "Include the values in the table and in the report.")
  var values = false

  @Flag(name: .shortAndLong, help: "Do not print the table.")
  var quiet = false

  private func source() throws -> MergeInput.Source {
    let sources = [
      server.map { MergeInput.Source.document($0) }, serverPatch.map { .patch($0) },
      serverMergePatch.map { .mergePatch($0) },
    ].compactMap(\.self)
    guard sources.count == 1 else {
      throw ValidationError("merge requires exactly one of --server, --server-patch and --server-merge-patch")
    }
    return sources[0]
  }

  func validate() throws {
    _ = try source()
    _ = try MergeOptions(policy: policy, conflicts: conflicts, partial: partial)
    let inputs = [local, server, serverPatch, serverMergePatch, base].compactMap(\.self)
    guard inputs.count(where: { $0 == "-" }) < 2 else {
      throw ValidationError(
        "only one of the input documents can be standard input")
    }
    if output.isEmpty { throw ValidationError("--output must not be empty; specify a path") }
    if let format, MergedDocument.Format(rawValue: format) == nil {
      throw ValidationError("--format must be json or strata")
    }
    if let report {
      guard report == "-" || report.hasSuffix(".json") else {
        throw ValidationError("--report must be a .json file, or - for standard output")
      }
      guard report != "-" || output != "-" else {
        throw ValidationError(
          "--report and the document cannot both use standard output; write the document to a file with -o FILE")
      }
      guard report != output else { throw ValidationError("--report and --output must be different files") }
    }
  }

  func run(on console: Console) throws -> Int32 {
    try checkReport()
    let form = format.flatMap { MergedDocument.Format(rawValue: $0) } ?? .init(path: output)
    if form == .strata { try DataFile(output).refuseTerminal(console) }
    let options = try MergeOptions(policy: policy, conflicts: conflicts, partial: partial)
    let result = try merged(options, console)
    for (path, _) in options.policies where !result.values.contains(where: { path.leadsSomewhere(in: $0) }) {
      console.noteLine("note: --policy \(path.description.onOneLine): the path matches no value")
    }
    let report = result.report
    for conflict in report.conflicts where !quiet && Self.canMergeByID(conflict) {
      let path = conflict.path.description.onOneLine
      console.noteLine("note: \(path): the elements have ids; to match them, add --policy '\(path)=byID(id)'")
    }
    let fails = conflicts == .fail && !report.conflicts.isEmpty
    // Everything is computed before the first file is written, so that a failure leaves no files behind.
    let data = try ToolError.at(output) { try result.data(form) }
    if data.first == 0x1F { try DataFile(output).refuseTerminal(console) }
    let account = try self.report.map { _ in try report.json(showsValues: values).jsonText() }
    try write(fails ? nil : data, account, console) { try printResult(result, fails, console) }
    return report.conflicts.isEmpty || conflicts == .local || conflicts == .server ? 0 : 1
  }

  /// Merges the documents. If the program has the model of the local document, the merge uses this model. Otherwise,
  /// the documents are merged value by value.
  private func merged(_ options: MergeOptions, _ console: Console) throws -> MergeResult {
    let file = try InputFile(DataFile(local), console)
    if let model = try model(of: file, console.models) {
      let source = try source()
      return try console.models.merge(
        model, file, base: base.map { try InputFile(DataFile($0), console) }, source,
        InputFile(DataFile(source.path), console), options, ignoresUnknownKeys: ignoreUnknownKeys)
    }
    let input = try MergeInput(local: file, base: base, server: source(), console)
    let (value, report) = try Merger(options: options).merge(input.server, into: input.localValue, base: input.base)
    if !input.local.isJSON { try RecordKeys(of: input.localValue).check(value, DataFile(local).name) }
    let document = MergedDocument(value: value, form: input.local.form, objects: input.objects)
    return MergeResult(
      values: [input.localValue, input.server, input.base ?? .null], report: report, data: document.data)
  }

  /// Returns the model of the local document, or `nil` for lists, streams and all other documents that are merged value
  /// by value.
  private func model(of file: InputFile, _ models: ToolModels) throws -> (any VersionedModel.Type)? {
    if let type {
      guard let model = try models.type(ofOption: type).type as? any VersionedModel.Type else {
        throw ToolError("--type \(type): the type is not a model; to merge a collection as plain values, omit --type")
      }
      return model
    }
    guard case .archive = file.format, try !file.isEmpty else { return nil }
    let stamp = try ToolError.at(file.path) { try file.stamp() }
    return stamp.kind == .single ? models.type(of: stamp)?.type as? any VersionedModel.Type : nil
  }

  /// Writes the merged document and the report and prints the table. Both files are first written to temporary files.
  /// Then the table is printed, and finally the files are replaced, the document last. If an earlier step fails, the
  /// old document is kept.
  private func write(
    _ document: Data?, _ account: Data?, _ console: Console, _ printResult: () throws -> Void
  ) throws {
    func writeReport() throws {
      guard let report, let account else { return try printResult() }
      guard report != "-" else {
        try printResult()
        return try console.write(account)
      }
      try DataFile(report).replace { file in
        try file.writeAll(account.bytes)
        try printResult()
      }
    }
    let output = DataFile(output)
    guard let document, !output.isStandard else {
      if let document { try console.write(document) }
      return try writeReport()
    }
    try output.replace { file in
      try file.writeAll(document.bytes)
      try writeReport()
    }
  }

  /// Throws if the report would replace one of the documents, even if the path is spelled differently.
  private func checkReport() throws {
    guard let report, report != "-" else { return }
    let place = try RealPath.of(report)
    for path in [output, local, server, serverPatch, serverMergePatch, base].compactMap(\.self)
    where path != "-" {
      guard try RealPath.of(path) != place else {
        throw ToolError(
          "\(report): the report would overwrite the document \(path); choose a different path for the report")
      }
    }
  }

  private func printResult(_ result: MergeResult, _ fails: Bool, _ console: Console) throws {
    let report = result.report
    let others = [server, serverPatch, serverMergePatch].compactMap(\.self).map { DataFile($0).name }
    try page.write("Merge of \(DataFile(local).name) and \(others.joined())", console) { page in
      page.element("p", counts(report) + result.note)
      page.add(report)
    }
    if !quiet {
      var lines = [report.table(showsValues: values)]
      if !report.entries.isEmpty { lines += ["", counts(report) + result.note] }
      let text = Data((lines.joined(separator: "\n") + "\n").utf8)
      if output == "-" || self.report == "-" || fails { console.writeError(text) } else { try console.write(text) }
    }
    if fails {
      console.errorLine(
        "the merge has \(report.conflicts.count.counted("conflict")), so no document was written; resolve them with "
          + "--policy, or use --conflicts local or server"
      )
    }
  }

  /// Whether both sides of a conflict are lists of objects that all have the key `id`.
  private static func canMergeByID(_ conflict: MergeReport.Entry) -> Bool {
    [conflict.local, conflict.server].allSatisfy { side in
      guard let elements = side?.arrayValue, !elements.isEmpty else { return false }
      return elements.allSatisfy { $0["id"]?.isNull == false }
    }
  }

  private func counts(_ report: MergeReport) -> String {
    let counts = MergeReport.Outcome.allCases.map { outcome in
      let count = report.entries.count { $0.outcome == outcome }
      return outcome == .conflict ? count.counted("conflict") : "\(count.grouped) \(outcome)"
    }
    let isOpen = conflicts == nil && !report.conflicts.isEmpty
    return counts.joined(separator: ", ")
      + (isOpen ? "; for conflicts, the local values are kept (see --policy and --conflicts)" : "")
  }
}

extension MergeOptions {
  /// Creates the options from the arguments `--policy`, `--conflicts` and `--partial`.
  ///
  /// - Throws: `ValidationError` if a rule does not exist, or if two rules apply to the whole document.
  init(policy: [String], conflicts: MergeCommand.Conflicts?, partial: Bool) throws {
    let policies = try policy.map { try PolicyArgument($0) }
    guard policies.count(where: { $0.path == nil }) < 2 else {
      throw ValidationError(
        "--policy is specified twice without a path; specify a path for one of the rules")
    }
    self.init(conflicts: conflicts == .server ? .takeServer : .keepLocal)
    if partial { unlisted = .keep }
    self.policy = policies.first { $0.path == nil }?.policy
    self.policies = policies.compactMap { policy in policy.path.map { ($0, policy.policy) } }
  }
}
