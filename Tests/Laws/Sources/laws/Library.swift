import Foundation
import GRDB
import Strata
import StrataStore

// These entities are related: each shelf has ordered volumes, and it has labels through a join table.

@Model(version: 1)
final class Shelf {
  let id: Int
  var name = ""
  var volumes: [Volume] = []
  var labels: [Label] = []
  init(id: Int) { self.id = id }
}

@Model(version: 1)
final class Volume {
  let id: Int
  var title = ""
  weak var shelf: Shelf?
  init(id: Int) { self.id = id }
}

@Model(version: 1)
struct Label: Hashable { let name: String }

extension Shelf: Entity {
  static let entityMapping = EntityMapping(
    table: "shelf",
    relations: [
      "volumes": .toMany(foreignKey: "shelfID", order: .column("position"), removed: .delete),
      "labels": .through("shelfLabel", from: "shelfID", to: "labelID", order: .by("name")),
    ])
}
extension Volume: Entity {
  static let entityMapping = EntityMapping(table: "volume", relations: ["shelf": .toOne("shelfID")])
}
extension Label: Entity { static let entityMapping = EntityMapping(table: "label", keys: ["name": ["name"]]) }

/// The shelves as plain values.
struct Library: Equatable, CustomStringConvertible {
  struct Row: Equatable {
    var id: Int, name: String, volumes: [Book], labels: [String]
  }
  struct Book: Equatable { var id: Int, title: String }

  var shelves: [Row] = []

  static let tables = """
    CREATE TABLE shelf (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE volume (id INTEGER PRIMARY KEY, title TEXT NOT NULL, shelfID INTEGER REFERENCES shelf(id), position INTEGER);
    CREATE TABLE label (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE shelfLabel (
      shelfID INTEGER NOT NULL REFERENCES shelf(id), labelID INTEGER NOT NULL REFERENCES label(id), PRIMARY KEY (shelfID, labelID))
    """

  init(_ objects: [Shelf]) {
    shelves = objects.map { shelf in
      Row(
        id: shelf.id, name: shelf.name, volumes: shelf.volumes.map { Book(id: $0.id, title: $0.title) },
        labels: shelf.labels.map(\.name).sorted())
    }
  }

  static func sample(_ random: inout SeededRandom) -> Library {
    var library = Library([])
    // Each volume is on at most one shelf.
    var volumes = Array(1...8).shuffled(using: &random)
    for id in 1...3 where random.below(4) > 0 {
      let count = random.below(4)
      let own = volumes.prefix(count).map { Book(id: $0, title: "v\(random.below(3))") }
      volumes.removeFirst(min(count, volumes.count))
      let labels = Set((0..<random.below(4)).map { _ in "l\(random.below(4))" }).sorted()
      library.shelves.append(Row(id: id, name: "s\(random.below(3))", volumes: own, labels: labels))
    }
    return library
  }

  func objects() -> [Shelf] {
    shelves.map { row in
      let shelf = Shelf(id: row.id)
      shelf.name = row.name
      shelf.volumes = row.volumes.map { book in
        let volume = Volume(id: book.id)
        (volume.title, volume.shelf) = (book.title, shelf)
        return volume
      }
      shelf.labels = row.labels.map { Label(name: $0) }
      return shelf
    }
  }

  var json: JSONTree {
    .array(
      shelves.map { row in
        .object([
          .init(key: "id", value: .number("\(row.id)")), .init(key: "name", value: .text(row.name)),
          .init(
            key: "volumes",
            value: .array(
              row.volumes.map {
                .object([.init(key: "id", value: .number("\($0.id)")), .init(key: "title", value: .text($0.title))])
              })),
          .init(key: "labels", value: .array(row.labels.map { .object([.init(key: "name", value: .text($0))]) })),
        ])
      })
  }

  /// Applies a document: its shelves replace the existing ones with the same ids, and its volumes are removed from all other shelves.
  mutating func take(_ other: Library) {
    let moved = Set(other.shelves.flatMap(\.volumes).map(\.id))
    for place in shelves.indices { shelves[place].volumes.removeAll { moved.contains($0.id) } }
    for row in other.shelves {
      if let place = shelves.firstIndex(where: { $0.id == row.id }) {
        shelves[place] = row
      } else {
        shelves.append(row)
      }
    }
    shelves.sort { $0.id < $1.id }
  }

  var description: String {
    shelves.map { "\($0.id) \($0.name) \($0.volumes.map { "\($0.id)\($0.title)" }) \($0.labels)" }.joined(
      separator: "; ")
  }
}
