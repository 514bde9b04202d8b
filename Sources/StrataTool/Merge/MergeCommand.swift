internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct MergeCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "merge", abstract: "Merge two archives or JSON documents, three ways where their base is known.",
    discussion: """
      What came of it is told as a table: on standard output where --output names a file, else on standard error. The \
      exit code is 0, 1 where conflicts remain, and 2 for a failure. Docs/Tool.md has an example.

      The tool of an app merges archives of one of its models by the model's policies, which --policy overrides. It reads and \
      writes JSON by the model's mapping with --type.

      Rules: \(MergePolicy.names.joined(separator: ", ")).

      Example:

        strata merge --local mine.json --base old.json --server theirs.json \\
          --policy 'labels=byID(id)' --policy votes=max -o merged.json
      """)

  static var failureCode: Int32 { 2 }

  enum Conflicts: String, CaseIterable, ExpressibleByArgument {
    case local, server, fail
  }

  @Option(help: "What is here: an archive or a JSON document; - is standard input.", completion: .file())
  var local: String

  @Option(help: "What came in.", completion: .file())
  var server: String?

  @Option(
    help: "What came in, as a JSON Patch (RFC 6902) of the base, or without one of what is here.",
    completion: .file(extensions: ["json"]))
  var serverPatch: String?

  @Option(help: "What came in, as a JSON Merge Patch (RFC 7396).", completion: .file(extensions: ["json"]))
  var serverMergePatch: String?

  @Option(help: "What both started from.", completion: .file())
  var base: String?

  @Option(help: "The model of JSON documents, of which the program has the policies and the mapping.")
  var type: String?

  @Flag(help: "Skip the keys of the local document and the base that no field of the model reads.")
  var ignoreUnknownKeys = false

  @Option(
    help: ArgumentHelp("What decides at a path, or everywhere; may be repeated.", valueName: "[path=]rule"),
    completion: .list(MergePolicy.names.filter { $0.allSatisfy(\.isLetter) }))
  var policy: [String] = []

  @Option(help: "Which side counts where both changed a value and no rule decides; fail writes nothing.")
  var conflicts: Conflicts?

  @Flag(help: "The server's document is partial: keys that it lacks stay unchanged.")
  var partial = false

  @Option(name: .shortAndLong, help: "The file to write; - is standard output.", completion: .file())
  var output = "-"

  @Option(
    help: "json or strata; as the name of the output says, or else as the local document is.",
    completion: .list(["json", "strata"]))
  var format: String?

  @Option(
    help: "Where to write what became of each key path, as a file.json; - is standard output.",
    completion: .file(extensions: ["json"]))
  var report: String?

  @OptionGroup var page: PageOption

  @Flag(help: "Show values in the table and in the report.")
  var values = false

  @Flag(name: .shortAndLong, help: "No table.")
  var quiet = false

  private func source() throws -> MergeInput.Source {
    let sources = [
      server.map { MergeInput.Source.document($0) }, serverPatch.map { .patch($0) },
      serverMergePatch.map { .mergePatch($0) },
    ].compactMap(\.self)
    guard sources.count == 1 else {
      throw ValidationError("merge requires exactly one of --server, --server-patch and --server-merge-patch.")
    }
    return sources[0]
  }

  func validate() throws {
    _ = try source()
    _ = try MergeOptions(policy: policy, conflicts: conflicts, partial: partial)
    let inputs = [local, server, serverPatch, serverMergePatch, base].compactMap(\.self)
    guard inputs.count(where: { $0 == "-" }) < 2 else {
      throw ValidationError(
        "only one of the input documents can be standard input.")
    }
    if output.isEmpty { throw ValidationError("--output must not be empty; specify a path.") }
    if let format, MergedDocument.Format(rawValue: format) == nil {
      throw ValidationError("--format must be json or strata.")
    }
    if let report {
      guard report == "-" || report.hasSuffix(".json") else {
        throw ValidationError("--report must be a .json file, or - for standard output.")
      }
      guard report != "-" || output != "-" else {
        throw ValidationError(
          "--report and the document cannot both use standard output; write the document to a file with -o FILE.")
      }
      guard report != output else { throw ValidationError("--report and --output must be different files.") }
    }
  }

  func run(on console: Console) throws -> Int32 {
    try checkReport()
    let form = format.flatMap { MergedDocument.Format(rawValue: $0) } ?? .init(path: output)
    if form == .strata { try DataFile(output).refuseTerminal(console) }
    let options = try MergeOptions(policy: policy, conflicts: conflicts, partial: partial)
    let result = try merged(options, console)
    for (path, _) in options.policies where !result.values.contains(where: { path.leadsSomewhere(in: $0) }) {
      console.noteLine("note: --policy \(path.description.onOneLine): nothing stands there")
    }
    let report = result.report
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
    let document = MergedDocument(value: value, form: input.local.form, objects: input.objects)
    return MergeResult(
      values: [input.localValue, input.server, input.base ?? .null], report: report, data: document.data)
  }

  /// Returns the model of the local document, or `nil` for lists, streams and all other documents that are merged by
  /// values.
  private func model(of file: InputFile, _ models: ToolModels) throws -> (any VersionedModel.Type)? {
    if let type {
      guard let model = try models.type(ofOption: type).type as? any VersionedModel.Type else {
        throw ToolError("--type \(type): the type is not a model; omit --type to merge a list by values")
      }
      return model
    }
    guard case .archive = file.format, try !file.isEmpty else { return nil }
    let stamp = try ToolError.at(file.path) { try file.stamp() }
    return stamp.kind == .single ? models.type(of: stamp)?.type as? any VersionedModel.Type : nil
  }

  /// Writes the merged document and the report, and prints the table. Both files are first written to temporary files.
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
        throw ToolError("\(report): --report would overwrite the input document \(path); choose another path")
      }
    }
  }

  private func printResult(_ result: MergeResult, _ fails: Bool, _ console: Console) throws {
    let report = result.report
    try page.write(output == "-" ? "merge of \(DataFile(local).name)" : output, console) { page in
      page.element("p", counts(report) + result.note)
      page.add(report)
    }
    if !quiet {
      var lines = [report.table(showsValues: values)]
      if !report.entries.isEmpty { lines += ["", counts(report) + result.note] }
      let text = Data((lines.joined(separator: "\n") + "\n").utf8)
      if output == "-" || self.report == "-" || fails { console.writeError(text) } else { try console.write(text) }
    }
    if fails { console.errorLine("\(report.conflicts.count.counted("conflict")); nothing was merged") }
  }

  private func counts(_ report: MergeReport) -> String {
    let counts = MergeReport.Outcome.allCases.map { outcome in
      let count = report.entries.count { $0.outcome == outcome }
      return outcome == .conflict ? count.counted("conflict") : "\(count.grouped) \(outcome)"
    }
    let isOpen = conflicts == nil && !report.conflicts.isEmpty
    return counts.joined(separator: ", ")
      + (isOpen ? ": the local values are kept (--policy, --conflicts)" : "")
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
        "--policy is specified twice for the whole document; put a path before one of the rules.")
    }
    self.init(conflicts: conflicts == .server ? .takeServer : .keepLocal)
    if partial { unlisted = .keep }
    self.policy = policies.first { $0.path == nil }?.policy
    self.policies = policies.compactMap { policy in policy.path.map { ($0, policy.policy) } }
  }
}
