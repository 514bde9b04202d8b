import Foundation
import StrataCore

/// The models of two releases of an app: versions 1 and 2 of `Note` and `Tag`, and `Folder`.
enum App {
  struct OldNote: DescribedModel, Equatable {
    var id = 1
    var text = ""
    var votes = 0
    static let fields = Fields(
      OldNote.self, name: "Note", version: 1, Field("id", \.id), Field("text", \.text), Field("votes", \.votes),
      make: { OldNote(id: $0, text: $1, votes: $2) })
  }

  struct Note: DescribedModel, Migratable, Validating, Equatable {
    var id = 1
    var title = ""
    var votes = 0
    var mood = Mood.calm
    static let fields = Fields(
      Note.self, name: "Note", version: 2, Field("id", \.id), Field("title", \.title, json: "data.title"),
      Field("votes", \.votes, merge: .max), Field("mood", \.mood, default: .calm),
      make: { Note(id: $0, title: $1, votes: $2, mood: $3) })
    static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("text", to: "title")))
    static let validation = Validation<Note>(.check("title", \.title, .nonEmpty))
  }

  /// A faulty version 2 of `Note`, whose migration step truncates long texts.
  struct CutNote: DescribedModel, Migratable {
    var id = 1
    var text = ""
    var votes = 0
    var mood = Mood.calm
    static let fields = Fields(
      CutNote.self, name: "Note", version: 2, Field("id", \.id), Field("text", \.text), Field("votes", \.votes),
      Field("mood", \.mood, default: .calm), make: { CutNote(id: $0, text: $1, votes: $2, mood: $3) })
    static let migration = MigrationPlan(
      .step(from: 1, to: 2, "keep ten characters") { record in
        if let text = record["text"]?.stringValue { record["text"] = .string(String(text.prefix(10))) }
      })
  }

  enum Mood: String, Archivable, CaseIterable { case calm, wild }

  /// Version 1 of `Tag`. Version 2 no longer has the field `colour`.
  struct OldTag: DescribedModel {
    var name = ""
    var colour = ""
    static let fields = Fields(
      OldTag.self, name: "Tag", version: 1, Field("name", \.name), Field("colour", \.colour),
      make: { OldTag(name: $0, colour: $1) })
  }

  struct Tag: DescribedModel, Migratable {
    var name = ""
    static let fields = Fields(Tag.self, name: "Tag", version: 2, Field("name", \.name), make: { Tag(name: $0) })
    static let migration = MigrationPlan(.step(from: 1, to: 2))
  }

  final class Folder: DescribedModel {
    var name = ""
    var notes: [Note] = []
    init(name: String, notes: [Note]) { (self.name, self.notes) = (name, notes) }
    static let fields = Fields(
      Folder.self, name: "Folder", version: 1, Field("name", \.name), Field("notes", \.notes, merge: .byID("id")),
      make: { Folder(name: $0, notes: $1) })
  }

  static let models: [any VersionedModel.Type] = [Note.self, Tag.self, Folder.self]
}

extension Run {
  /// Runs a command of the app's tool in this process.
  static func app(_ arguments: String..., input: Data = Data()) -> Run {
    Run(arguments, input: input, models: App.models)
  }
}
