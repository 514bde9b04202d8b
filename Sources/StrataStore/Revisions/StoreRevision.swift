public import Foundation
internal import StrataCore

/// The metadata of one save of a key, without its content.
public struct StoreRevision: Sendable, Hashable {
  /// The action that created a revision.
  public enum Action: Int, Sendable, Hashable, CaseIterable {
    /// A value was saved.
    case save = 0
    /// An earlier revision was saved again.
    case restore = 1
    /// The last change was undone.
    case undo = 2
    /// The last undone change was redone.
    case redo = 3
    /// The key was deleted: the revision has no value.
    case delete = 4
  }

  /// The key.
  public let key: String
  /// The number within the history of the key, from 1. Prunes and upgrades do not change it.
  public let number: Int
  /// The number among all revisions of the store. A later save has a higher one, whatever its time. Numbers are never
  /// reused, and those of pruned revisions are missing.
  public let sequence: Int64
  /// The time of the save by the clock of the saving program, to the millisecond. Revisions are ordered by ``sequence``, not by time.
  public let time: Date
  /// Who saved it.
  public let author: String?
  /// The reason for the save.
  public let note: String?
  /// The action that created the revision.
  public let action: Action
  /// The number of the revision whose state this one repeats, if it restores, undoes or redoes.
  public let origin: Int?
  /// The registered name of the type that was saved; `nil` if the key was deleted.
  public let typeName: String?
  /// The version of the model that was saved; `nil` if there is none.
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
  /// One line: the key, the number, the action, the type and the sequence, without the value.
  public var description: String {
    let type = typeName.map { ", \($0)\(modelVersion.map { " \($0)" } ?? "")" } ?? ""
    let origin = origin.map { " of revision \($0)" } ?? ""
    return "key \(key), revision \(number): \(action)\(origin)\(type), sequence \(sequence)".onOneLine
  }
}

/// Selects a revision of a key.
public enum StorePoint: Sendable, Hashable {
  /// The last revision.
  case latest
  /// The revision with this number.
  case revision(Int)
  /// The state at a time: the last revision before the first one with a later time. So a clock that was set back hides no revision
  /// and selects none too early. If that revision was pruned, the last remaining one before it is selected. If none remains, the
  /// error is `notFound`, because the state is not known.
  case time(Date)
  /// The revision that has a label.
  case label(String)
}

/// A condition that the key must meet for a save.
public enum SaveCondition: Sendable, Hashable {
  /// No condition.
  case always
  /// The key has no revision, or its last one is a deletion.
  case isAbsent
  /// The last revision still has this number: there was no save since it was read.
  case isStill(Int)
}
