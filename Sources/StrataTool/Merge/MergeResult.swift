internal import Foundation
internal import StrataCore

/// The result of a merge with the policies of a model, or without a model.
struct MergeResult {
  /// The values in which the paths of `--policy` are looked up, to warn about paths that do not exist.
  let values: [ArchiveValue]
  let report: MergeReport
  /// The text that is printed after the counts of the merge report.
  var note = ""
  /// Returns the merged document in a format, which by default is the format of the local document.
  let data: (MergedDocument.Format?) throws -> Data
}

extension ToolModels {
  /// Merges documents of a model. Each document is an archive of any version, or JSON that matches the model's mapping.
  func merge<M: VersionedModel>(
    _ type: M.Type, _ local: InputFile, base: InputFile?, _ source: MergeInput.Source, _ server: InputFile,
    _ options: MergeOptions, ignoresUnknownKeys: Bool, limits: ArchiveLimits = ArchiveLimits()
  ) throws -> MergeResult {
    let adapter = try adapter(type, ignoresUnknownKeys: ignoresUnknownKeys)
    func read(_ file: InputFile) throws -> M {
      try ToolError.at(file.path) {
        try Self.isJSON(file)
          ? adapter.decode(file.data())
          : ArchiveDecoder(limits: limits, subclasses: types).decode(type, from: file.data())
      }
    }
    var model = try read(local)
    let before = try Comparison.tree(model.archivedValue())
    let base = try base.map(read)
    let report = try ToolError.at(server.path) {
      let isJSON = try Self.isJSON(server)
      let data = try server.data()
      let incoming: MergeSource =
        switch source {
        case .document: isJSON ? .json(data) : .archive(data)
        case .patch: .patch(try JSONPatch(parsing: data))
        case .mergePatch: .mergePatch(data)
        }
      return try model.merge(incoming, base: base, options: options)
    }
    let isJSON = try Self.isJSON(local)
    let isPretty = try !isJSON || Document.hasLines(local.data())
    return MergeResult(
      values: try [before, base?.archivedValue() ?? .null, model.archivedValue()].map(Comparison.tree), report: report,
      note: "; merged with the policies of \(M.schema.name)"
    ) { [model] format in
      guard isJSON && format == nil || format == .json else {
        return try ArchiveEncoder(subclasses: types).encode(model)
      }
      return try adapter.encode(model, isPretty: isPretty) + Data("\n".utf8)
    }
  }

  /// - Throws: `ToolError` if the file is neither JSON nor an archive.
  private static func isJSON(_ file: InputFile) throws -> Bool {
    switch file.format {
    case .archive: return false
    case .other(let found) where InputFile.mayBeJSON(found): return true
    case .other(let found): throw InputFile.unknown(found)
    case .propertyList:
      throw ToolError(
        "\(DataFile(file.path).name): the file is a property list; first convert it to an archive with strata convert"
      )
    }
  }
}
