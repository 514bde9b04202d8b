import Foundation
import GRDB
import StrataCore
import StrataLegacy
import StrataStore

extension Small: LegacyModel { static var legacyNames: [String] { ["App.Small"] } }

extension Small: Entity { static let entityMapping = EntityMapping(table: "small") }

extension Small {
  /// Returns models that differ in every field. Each call returns the same models.
  static func make(_ count: Int) -> [Small] { (0..<count).map { make(number: $0) } }

  static func make(number: Int) -> Small {
    Small(
      id: number, name: "Model number \(number)", score: Double(number) * 0.375, isFlagged: number.isMultiple(of: 3),
      createdAt: Date(timeIntervalSinceReferenceDate: 700_000_000.25 + Double(number) * 61.5))
  }

  /// Returns the model with a different name and score.
  func changed(_ mark: String = "refreshed") -> Small {
    var changed = self
    changed.name += " \(mark)"
    changed.score += 1
    return changed
  }
}

extension [Small] {
  /// Returns the models after changing the name and score of every tenth one.
  func changed(_ mark: String = "refreshed", from first: Int = 0) -> [Small] {
    enumerated().map { place, model in place % 10 == first ? model.changed(mark) : model }
  }
}
