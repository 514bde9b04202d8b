internal import Foundation
internal import StrataCore
internal import StrataStore

/// A batch of files to save in a single transaction, so that the import waits for the disk only once per batch.
struct StoreImportBatch {
  private static let mostFiles = 256
  private static let mostBytes = 16 << 20

  private enum Item {
    case document(String, key: String, Data)
    case done(StoreImportReport.Result)
  }

  private var items: [Item] = []

  /// Reads the next files, at least one, until the batch reaches its limits.
  init(_ rest: inout ArraySlice<(path: String, item: FileTree.Item)>, root: String, prefix: String, _ console: Console)
  {
    var size = 0
    while let (path, item) = rest.first, items.count < Self.mostFiles, size < Self.mostBytes {
      rest.removeFirst()
      let read = Self.read(path, item, root: root, key: prefix + path, console)
      if case .document(_, _, let archive) = read { size += archive.count }
      items.append(read)
    }
  }

  private static func read(
    _ path: String, _ item: FileTree.Item, root: String, key: String, _ console: Console
  ) -> Item {
    do {
      switch item {
      case .file:
        let (document, found) = try StoredDocument.inFolder(root + "/" + path, console)
        guard let document else { return .done(.init(file: path, outcome: .other, message: found)) }
        return .document(path, key: key, document.archive)
      case .other(let kind): return .done(.init(file: path, outcome: .other, message: kind))
      case .unreadable(let error): throw error
      }
    } catch {
      return .done(.init(file: path, outcome: .failed, key: key, message: ToolError.message(of: error)))
    }
  }

  /// - Returns: the outcome of each file, after the batch has been written to disk.
  /// - Throws: `StoreError` if the store fails, in which case no file of the batch is saved.
  func save(in store: SnapshotStore, _ attribution: StoreNote) throws -> [StoreImportReport.Result] {
    try store.write { transaction in
      try items.map { item in
        switch item {
        case .done(let result): result
        case .document(let file, let key, let archive): try Self.save(file, key, archive, transaction, attribution)
        }
      }
    }
  }

  private static func save(
    _ file: String, _ key: String, _ archive: Data, _ transaction: StoreTransaction, _ attribution: StoreNote
  ) throws -> StoreImportReport.Result {
    do {
      if let same = try revision(of: key, with: archive, transaction) {
        return .init(file: file, outcome: .same, key: key, revision: same)
      }
      let revision = try transaction.saveArchive(archive, as: key, author: attribution.author, note: attribution.note)
      return .init(file: file, outcome: .saved, key: key, revision: revision.number)
    } catch let error as StoreError where [.notEncodable, .invalid, .newerModel, .damaged].contains(error.code) {
      // These errors affect only one key, so the other files of the batch are still saved. If a save was left
      // incomplete, the transaction throws when it ends.
      return .init(file: file, outcome: .failed, key: key, message: ToolError.message(of: error))
    }
  }

  /// Returns the number of the last revision if its value has the same bytes as the archive's value, otherwise `nil`.
  private static func revision(
    of key: String, with archive: Data, _ transaction: StoreTransaction
  ) throws -> Int? {
    guard let last = try transaction.revision(of: key), !last.isDeletion else { return nil }
    // `try?`, because an archive that cannot be read is treated as different. Saving the archive then throws the error.
    guard let stamp = try? Stamp(of: archive), let value = try? ArchiveDecoder().decodeValue(from: archive),
      stamp.typeName == last.typeName, stamp.modelVersion == last.modelVersion,
      let held = try transaction.untypedValue(for: key)
    else { return nil }
    let encoder = ArchiveEncoder()
    // `try?`, because a value that cannot be compared is treated as different and is saved.
    guard let bytes = try? encoder.encodeBody(value), let heldBytes = try? encoder.encodeBody(held) else { return nil }
    return bytes == heldBytes ? last.number : nil
  }
}
