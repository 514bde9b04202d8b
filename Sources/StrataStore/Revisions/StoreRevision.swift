public import Foundation
internal import StrataCore

/// One save of a key: what is known of it without its content.
public struct StoreRevision: Sendable, Hashable {
  /// What made a revision.
  public enum Action: Int, Sendable, Hashable, CaseIterable {
    /// A value was saved.
    case save = 0
    /// An earlier revision was saved again.
    case restore = 1
    /// The save before was undone.
    case undo = 2
    /// What was undone was done again.
    case redo = 3
    /// The key was deleted: the revision has no value.
    case delete = 4
  }

  /// The key.
  public let key: String
  /// The number within the history of the key, from 1. It never changes, whatever is pruned or upgraded.
  public let number: Int
  /// The number among all revisions of the store: a later save has a higher one, whatever its time. It is never given twice,
  /// and numbers may be missing where revisions were pruned.
  public let sequence: Int64
  /// When it was saved by the clock of the program that did, to the millisecond. Nothing is ordered by it.
  public let time: Date
  /// Who saved it.
  public let author: String?
  /// Why.
  public let note: String?
  /// What made it.
  public let action: Action
  /// The number of the revision whose state this one repeats, where it restores, undoes or redoes.
  public let origin: Int?
  /// The registered name of the type that was saved; `nil` where the key was deleted.
  public let typeName: String?
  /// The version of the model that was saved; `nil` where there is none.
  public let modelVersion: Int?

  /// Whether the key has no value since this revision.
  public var isDeletion: Bool { typeName == nil }
}

extension StoreRevision {
  init(_ row: StoredRow, key: String, _ definition: Definition?) {
    self.init(
      key: key, number: Int(row.seq), sequence: row.id, time: Date(milliseconds: row.time), author: row.author,
      note: row.note, action: row.action, origin: row.origin.map { Int($0) },
      typeName: definition?.content.typeName, modelVersion: definition?.content.modelVersion)
  }
}

extension StoreRevision: CustomStringConvertible {
  /// One line: the key, the number, what made it and of which type it is, without the value.
  public var description: String {
    let type = typeName.map { ", \($0)\(modelVersion.map { " \($0)" } ?? "")" } ?? ""
    let origin = origin.map { " of revision \($0)" } ?? ""
    return "key \(key), revision \(number): \(action)\(origin)\(type), sequence \(sequence)".onOneLine
  }
}

/// Which revision of a key is meant.
public enum StorePoint: Sendable, Hashable {
  /// The last revision.
  case latest
  /// The revision with this number.
  case revision(Int)
  /// What was there at a time: the last revision before the first one that is later. A clock that was set back thus
  /// hides no revision and brings none forward. Of revisions that were pruned, the last one before them that is left counts; where
  /// there is none, the error is `notFound`, since what was there is not known.
  case time(Date)
  /// The revision that has a label.
  case label(String)
}

/// What must hold of a key for a save to happen.
public enum SaveCondition: Sendable, Hashable {
  /// Nothing.
  case always
  /// The key has no revision, or its last one is a deletion.
  case isAbsent
  /// The last revision is still the one with this number: nobody saved since it was read.
  case isStill(Int)
}
