internal import Foundation
package import StrataCore

/// The models of an app, which the app's tool uses to decode, upgrade and merge archives.
package struct ToolModels: Sendable {
  let types: [any VersionedModel.Type]

  package init(_ types: [any VersionedModel.Type] = []) { self.types = types }

  /// A name that two of the models share; `nil` if there is none.
  var ambiguousName: String? {
    var names: Set<String> = []
    return types.map { $0.schema.name }.first { !names.insert($0).inserted }
  }

  /// Returns the archived type for a type name in a stamp; `nil` if no model is registered for that name.
  func type(named name: String) -> ArchivedType? {
    ArchivedType.index(of: name, in: types).map { ArchivedType(types[$0], types, stampedAs: name) }
  }

  /// Returns the type of an archive, or of the elements of a stream; `nil` if no model is registered for it. The
  /// elements of a stream must be models.
  func type(of stamp: Stamp) -> ArchivedType? {
    guard let type = type(named: stamp.typeName), stamp.kind == .single || type.type is any VersionedModel.Type else {
      return nil
    }
    return type
  }

  /// Returns the type for the argument of `--type`, which is the name of a model or of its optionals or collections. If
  /// `stamp` is the type name of an archive of this model or of its optionals or collections, such as `[Issue]`,
  /// returns the type of that archive instead.
  ///
  /// - Throws: `ToolError` if no model is registered for the type.
  func type(ofOption name: String, stampedAs stamp: String? = nil) throws -> ArchivedType {
    guard let index = ArchivedType.index(of: name, in: types) else {
      let names = types.map { $0.schema.name }.sorted().joined(separator: ", ")
      throw ToolError(
        "--type \(name): "
          + (types.isEmpty
            ? "this program has no models; use the app's own tool (see “A tool of your own” in Docs/Tool.md)"
            : "this program has no model with this name; its models are \(names)"))
    }
    return ArchivedType(types[index], types, stampedAs: stamp ?? name)
  }

  /// Returns the JSON mapping of a type. A key that no field reads is an error, unless the model preserves unknown keys
  /// or `ignoresUnknownKeys` is true.
  func adapter<T: Archivable>(_ type: T.Type, ignoresUnknownKeys: Bool) throws -> JSONAdapter<T> {
    let keeps = type._rootSchema?.keepsUnknownFields ?? false
    return try JSONAdapter(type, unknownKeys: keeps ? .capture : ignoresUnknownKeys ? .ignore : .refuse)
  }

  /// Returns an archive of a JSON document that matches the JSON mapping of a type.
  func archive(ofJSON document: ArchiveValue, as type: ArchivedType, ignoresUnknownKeys: Bool) throws -> Data {
    func archive<T: Archivable>(_ root: T.Type) throws -> Data {
      let value = try adapter(root, ignoresUnknownKeys: ignoresUnknownKeys).decode(document)
      let encoder = ArchiveEncoder(subclasses: types)
      var stamp = encoder.stamp(of: value)
      stamp.typeName = type.name
      return try encoder.archive(stamp) { try $0.writeRoot(value) }
    }
    return try archive(type.type)
  }

  /// Decodes an archive. The models of a stream are decoded one at a time.
  func decode(
    _ file: InputFile, as type: ArchivedType, limits: ArchiveLimits, _ body: (any Archivable) throws -> Void
  ) throws -> DecodingReport {
    func value<T: Archivable>(_ type: T.Type) throws -> DecodingReport {
      var report = DecodingReport()
      let decoder = ArchiveDecoder(limits: limits, subclasses: types)
      try body(decoder.decode(type, from: file.data(), report: &report))
      return report
    }
    func models<M: VersionedModel>(_ type: M.Type) throws -> DecodingReport {
      try file.withURL { url in
        var models = ArchiveSequence(type, from: url, limits: limits, subclasses: types).makeAsyncIterator()
        while let model = try models.next() { try body(model) }
        return models.report
      }
    }
    return try ToolError.at(file.path) {
      if let model = try Self.element(of: file, type) { return try models(model) }
      return try value(type.type)
    }
  }

  /// Upgrades the models of an archive to their current versions, and replaces the `output` file with the result. A
  /// stream is read and written model by model.
  ///
  /// - Returns: the number of values, the decoding report, and whether the archive had an older version.
  func upgrade(
    _ file: InputFile, as type: ArchivedType, to output: DataFile, limits: ArchiveLimits
  ) throws -> (count: UInt64, report: DecodingReport, wasOlder: Bool) {
    func models<M: VersionedModel>(_ type: M.Type) throws -> (UInt64, DecodingReport, Bool) {
      try file.withURL { url in
        var models = ArchiveSequence(type, from: url, limits: limits, subclasses: types).makeAsyncIterator()
        var writer = try ArchiveStreamWriter<M>(creating: output.url, limits: limits, subclasses: types)
        var count: UInt64 = 0
        while let model = try models.next() {
          try writer.append(model)
          count += 1
        }
        try writer.finish()
        // A stream counts as older only if a model was upgraded or had no version, not because of keys that no field
        // reads.
        let report = models.report
        return (count, report, !report.upgrades.isEmpty || !report.typesWithoutVersion.isEmpty)
      }
    }
    return try ToolError.at(file.path) {
      if let model = try Self.element(of: file, type) { return try models(model) }
      var report = DecodingReport()
      let data = try file.data()
      let upgraded = try upgrade(data, file.stamp(), limits: limits, report: &report)
      try output.replace { try $0.writeAll(upgraded.bytes) }
      return (1, report, upgraded != data)
    }
  }

  /// Returns a copy of an archive of a single value, with all models upgraded to their current versions.
  func upgrade(
    _ data: Data, _ stamp: Stamp, limits: ArchiveLimits, report: inout DecodingReport
  ) throws -> Data {
    guard let index = ArchivedType.index(of: stamp.typeName, in: types) else { throw unknown(stamp) }
    return try ArchiveUpgrader(types[index], limits: limits, subclasses: types).upgrade(data, report: &report)
  }

  /// Returns the model of a stream's elements; `nil` for an archive of a single value.
  private static func element(of file: InputFile, _ type: ArchivedType) throws -> (any VersionedModel.Type)? {
    try file.stamp().kind == .single ? nil : type.type as? any VersionedModel.Type
  }

  func unknown(_ stamp: Stamp) -> ToolError {
    ToolError(
      stamp.kind == .single
        ? "this program has no model for the type \(stamp.typeName)"
        : "this program has no model for a stream of the type \(stamp.typeName)")
  }
}
