public import Foundation
internal import StrataCore

/// The metadata of one revision of a key, without its content.
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
    /// The key was deleted. The revision has no value.
    case delete = 4
  }

  /// The key that the revision belongs to.
  public let key: String
  /// The number of the revision within the history of its key, counted from 1. Prunes and upgrades do not change this number.
  public let number: Int
  /// The number of the revision among all revisions of the store. Each save has a higher sequence than all earlier saves,
  /// regardless of its time. Sequences are never reused, so the sequences of pruned revisions are missing.
  public let sequence: Int64
  /// The time of the save according to the clock of the saving program, in whole milliseconds. Revisions are ordered by
  /// ``sequence``, not by time.
  public let time: Date
  /// The author of the save, or `nil` if none was given.
  public let author: String?
  /// The reason for the save, or `nil` if none was given.
  public let note: String?
  /// The action that created the revision.
  public let action: Action
  /// For a restore, an undo or a redo, the number of the revision whose state this revision repeats. Otherwise `nil`.
  public let origin: Int?
  /// The registered name of the saved type, or `nil` for a deletion.
  public let typeName: String?
  /// The version of the saved model. `nil` for a deletion, or if the type is not a model.
  public let modelVersion: Int?

  /// Whether the revision is a deletion and has no value.
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
  /// The key, number, action, type and sequence of the revision in one line, without its value.
  public var description: String {
    let type = typeName.map { ", \($0)\(modelVersion.map { " \($0)" } ?? "")" } ?? ""
    let origin = origin.map { " of revision \($0)" } ?? ""
    return "key \(key), revision \(number): \(action)\(origin)\(type), sequence \(sequence)".onOneLine
  }
}

/// A point in the history of a key. It selects one of the key's revisions.
public enum StorePoint: Sendable, Hashable {
  /// The last revision.
  case latest
  /// The revision with this number.
  case revision(Int)
  /// The state of the key at the given time. Selects the last revision before the first revision with a later time, so the result
  /// is well-defined even if the clock was set back. If the selected revision was pruned, the last remaining revision before it
  /// is selected. If none remains, `notFound` is thrown, because the state is unknown.
  case time(Date)
  /// The revision with this label.
  case label(String)
}

/// A condition on the last revision of a key. If the condition is not met, a save throws `conflict`.
public enum SaveCondition: Sendable, Hashable {
  /// No condition.
  case always
  /// The key has no value. Either the key does not exist, or its last revision is a deletion.
  case isAbsent
  /// The last revision still has this number. Pass the number of the revision that was read. The save fails if the key has been
  /// saved since then.
  case isStill(Int)
}
