internal import ArgumentParser
internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataRemote
internal import StrataStore

struct EditCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit", abstract: "Change a document of a refreshed database, to be sent later.",
    discussion: """
      The change is a JSON merge patch (RFC 7396): keys that it names are set, those that are null are taken away, and the \
      others stay. strata refresh --send sends it.

      Example:

        strata edit t2 '{"title": "Choose tiles"}' --store tasks.store --entity task
      """)

  @Argument(help: "The id of the document.")
  var id: String

  @Argument(help: "The merge patch; - reads it from standard input.")
  var patch: String?

  @OptionGroup var file: RemoteFile

  @OptionGroup var name: DocumentName

  @Flag(help: "Make the document; the id is one of your own until the server gives it another.")
  var new = false

  @Flag(help: "Delete the document.")
  var delete = false

  func validate() throws {
    if id.isEmpty { throw ValidationError("the document needs an id.") }
    if delete == (patch != nil) { throw ValidationError("an edit needs a merge patch, or --delete.") }
    if delete, new { throw ValidationError("--new and --delete do not go together.") }
  }

  func run(on console: Console) throws -> Int32 {
    let change = try change(console)
    let queue = try file.open()
    let (entity, id, file, isNew) = (name.entity, id, file, new)
    guard try RemoteFile.at(file.store, { try queue.read { db in try db.tableExists(entity) } }) else {
      throw ToolError("\(file.store): there is no table \(entity); strata refresh makes it")
    }
    let result = try RemoteFile.at(file.store) {
      try waiting {
        let remote = try await file.offline(queue, [entity])
        return try await remote.entities.writer.write { db -> ArchiveValue? in
          let known = try EntityDocument.all(in: entity).filter(Column("id") == id).fetchOne(db)
          guard (known == nil) == isNew else {
            throw ToolError(
              isNew
                ? "there is a \(entity) \(id) already; leave out --new to change it"
                : "there is no \(entity) \(id); --new makes one")
          }
          guard let change else {
            try known?.delete(from: entity, db)
            return nil
          }
          let value = JSONMergePatch.apply(change, to: known?.value ?? [:])
          try EntityDocument(id: id, value: value).save(in: entity, db)
          return value
        }
      }
    }
    try file.show(
      ["entity": .string(entity), "id": .string(id), "value": result ?? .null],
      ["\(entity)  \(id) \(delete ? "deleted" : isNew ? "made" : "changed")"], console)
    return 0
  }

  private func change(_ console: Console) throws -> ArchiveValue? {
    guard let patch else { return nil }
    let data = try patch == "-" ? console.read() : Data(patch.utf8)
    let value = try ToolError.at(patch == "-" ? "-" : "the merge patch") {
      try JSONReader.refusingDuplicates(limits: ArchiveLimits()).read(data)
    }
    guard case .object = value else {
      throw ToolError("found \(value.kind) where the merge patch, a JSON object, is needed")
    }
    return value
  }
}
