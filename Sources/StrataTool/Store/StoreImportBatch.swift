internal import Foundation
internal import StrataCore
internal import StrataStore

/// Some files of a folder, which are saved in one transaction: each waits for the disk once.
struct StoreImportBatch {
  private static let mostFiles = 256
  private static let mostBytes = 16 << 20

  private enum Item {
    case document(String, key: String, Data)
    case done(StoreImportReport.Result)
  }

  private var items: [Item] = []

  /// Reads the next files; at least one.
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

  /// - Returns: what became of each file, when that is on the disk.
  /// - Throws: where the store cannot go on; then nothing of the batch is saved.
  func save(in store: SnapshotStore, _ who: StoreNote) throws -> [StoreImportReport.Result] {
    try store.write { transaction in
      try items.map { item in
        switch item {
        case .done(let result): result
        case .document(let file, let key, let archive): try Self.save(file, key, archive, transaction, who)
        }
      }
    }
  }

  private static func save(
    _ file: String, _ key: String, _ archive: Data, _ transaction: StoreTransaction, _ who: StoreNote
  ) throws -> StoreImportReport.Result {
    do {
      if let same = try revision(of: key, with: archive, transaction) {
        return .init(file: file, outcome: .same, key: key, revision: same)
      }
      let revision = try transaction.saveArchive(archive, as: key, author: who.author, note: who.note)
      return .init(file: file, outcome: .saved, key: key, revision: revision.number)
    } catch let error as StoreError where [.notEncodable, .invalid, .newerModel, .damaged].contains(error.code) {
      // They concern one key. Should one have left a half of it in the transaction, nothing of that is kept.
      return .init(file: file, outcome: .failed, key: key, message: ToolError.message(of: error))
    }
  }

  /// The last revision, where it holds the same as an archive, to the byte.
  private static func revision(
    of key: String, with archive: Data, _ transaction: StoreTransaction
  ) throws -> Int? {
    guard let last = try transaction.revision(of: key), !last.isDeletion else { return nil }
    // Saving says what is wrong with an archive that cannot be read.
    guard let stamp = try? Stamp(of: archive), let value = try? ArchiveDecoder().decodeValue(from: archive),
      stamp.typeName == last.typeName, stamp.modelVersion == last.modelVersion,
      let held = try transaction.untypedValue(for: key)
    else { return nil }
    let encoder = ArchiveEncoder()
    // What cannot be compared is saved.
    guard let bytes = try? encoder.encodeBody(value), let heldBytes = try? encoder.encodeBody(held) else { return nil }
    return bytes == heldBytes ? last.number : nil
  }
}
