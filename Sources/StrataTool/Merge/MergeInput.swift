internal import Foundation
internal import StrataCore

/// The documents of a merge, converted to match the local document. If the local document is JSON, archives are
/// converted to JSON values. Otherwise, JSON documents are converted to the types in the local archive.
struct MergeInput {
  enum Source {
    case document(String)
    case patch(String)
    case mergePatch(String)

    var path: String {
      switch self {
      case .document(let path), .patch(let path), .mergePatch(let path): path
      }
    }
  }

  let local: Document
  let localValue: ArchiveValue
  let base: ArchiveValue?
  let server: ArchiveValue
  /// Converts the documents' object graphs to trees. Remembers the types of the objects, so that the merged tree can be
  /// converted back to a graph.
  let objects: ObjectTree

  init(local localFile: InputFile, base basePath: String?, server source: Source, _ console: Console) throws {
    var objects = ObjectTree()
    func tree(_ document: Document) throws -> ArchiveValue {
      try ToolError.at(document.name) { try objects.tree(document.value) }
    }
    let local = try Self.document(Document(localFile))
    let localValue = try tree(local)
    let baseDocument = try basePath.map { try Self.document(Document($0, console)) }
    var base = try baseDocument.map(tree)
    let examples = [localValue] + (baseDocument?.isJSON == false ? [base].compactMap(\.self) : [])
    let typing = local.isJSON ? nil : JSONTyping(examples: examples, isStrict: true)
    func typed(_ value: ArchiveValue, _ document: Document) throws -> ArchiveValue {
      try ToolError.at(document.name) {
        guard let typing else { return document.isJSON ? value : try value.asJSON() }
        return document.isJSON ? try typing.typed(value, like: localValue) : value
      }
    }
    if let document = baseDocument, let value = base {
      base = try typed(value, document)
      try Self.checkRoots(localValue, local.name, base ?? .null, document.name)
    }
    let serverPath: String
    let server: ArchiveValue
    switch source {
    case .document(let path):
      let document = try Self.document(Document(path, console))
      (serverPath, server) = (path, try typed(tree(document), document))
    case .patch(let path), .mergePatch(let path):
      let json = try Self.patch(path, console)
      let patch =
        if case .patch = source { try ToolError.at(path) { try JSONPatch(json: json) } } else { nil as JSONPatch? }
      // A patch is applied to the base. If there is no base, the patch is applied to the local value, which then
      // becomes the base.
      let origin = base ?? localValue
      base = origin
      serverPath = path
      server = try ToolError.at(path) {
        let before = typing == nil ? origin : try origin.asJSON()
        let after = try patch?.applied(to: before) ?? JSONMergePatch.apply(json, to: before)
        guard let typing else { return after }
        return Self.keepingFields(of: origin, in: try typing.typed(after, like: origin))
      }
    }
    try Self.checkRoots(localValue, local.name, server, DataFile(serverPath).name)
    (self.local, self.localValue, self.base, self.server, self.objects) = (local, localValue, base, server, objects)
  }

  private static func document(_ document: Document) throws -> Document {
    if case .propertyList = document.form {
      throw ToolError(
        "\(document.name): the file is a property list; first convert it to an archive with strata convert"
      )
    }
    return document
  }

  private static func patch(_ path: String, _ console: Console) throws -> ArchiveValue {
    let document = try Document(path, console)
    guard document.isJSON else { throw ToolError("\(document.name): a patch must be a JSON document") }
    return document.value
  }

  /// Sets each field that a patch removed to null, because the merge treats a field that is missing from a record as
  /// unchanged.
  private static func keepingFields(of old: ArchiveValue, in new: ArchiveValue) -> ArchiveValue {
    switch (old, new) {
    case (.record(let before), .record(var after)) where before.typeName == after.typeName:
      for (key, value) in before.fields {
        after[key] = after[key].map { keepingFields(of: value, in: $0) } ?? .null
      }
      return .record(after)
    case (.object(let before), .object(let after)):
      return .object(
        ArchiveObject(
          after.entries.map { entry in
            .init(
              key: entry.key, value: before[entry.key].map { keepingFields(of: $0, in: entry.value) } ?? entry.value)
          }))
    default: return new
    }
  }

  /// Throws if the documents are of different kinds, because the merge would completely replace one document.
  private static func checkRoots(_ local: ArchiveValue, _ localName: String, _ other: ArchiveValue, _ name: String)
    throws
  {
    let (own, found) = (local.rootName, other.rootName)
    guard own != found, local.isContainer || other.isContainer else { return }
    throw ToolError(
      "\(name): the document contains \(found), but \(localName) contains \(own); merge documents of the same kind")
  }
}

extension ArchiveValue {
  fileprivate var isContainer: Bool {
    switch self {
    case .array, .set, .object, .map, .record: true
    default: false
    }
  }
}
