import Strata
import StrataTestSupport

@Model(version: 1)
final class Link {
  var value: Int
  var next: Link?
  weak var previous: Link?

  init(_ value: Int) { self.value = value }

  /// Creates a doubly linked list of the numbers from 0. Also returns all nodes, so that `cut(_:)` can release them one by one: releasing a
  /// long list recursively would overflow the stack.
  static func list(_ count: Int) -> (head: Link, all: [Link]) {
    let all = (0..<count).map { Link($0) }
    for place in all.indices.dropFirst() {
      all[place - 1].next = all[place]
      all[place].previous = all[place - 1]
    }
    return (all[0], all)
  }

  /// This node and all nodes after it, so that they can be released one by one.
  var rest: [Link] {
    var result = [self]
    while let next = result[result.count - 1].next { result.append(next) }
    return result
  }

  /// Releases the nodes one by one.
  static func cut(_ links: [Link]) { for link in links { link.next = nil } }
}

@Model(version: 1)
final class Folder {
  let name: String
  var files: [File] = []
  var favourite: File?
  var byName: [String: File] = [:]
  var parent: Folder?
  var box: Wrapping?

  struct Tag { var text = "" }

  init(name: String) { self.name = name }
}

@Model(version: 1)
final class File {
  var title: String
  weak var folder: Folder?
  @Field(archive: .conditional) var sibling: File?

  init(title: String) { self.title = title }
}

@Model(version: 1)
struct Wrapping {
  var file: File?
  var note = ""
}

@Model(version: 1)
final class Pair {
  weak var weakModel: Memo?
  var name = "pair"
}

@Model(version: 1)
final class Memo {
  var text: String?
}

@Model(version: 1)
final class City {
  let name: String
  var referenced: [City] = []

  init(name: String) { self.name = name }
}

@Model(version: 2)
class Animal {
  var name: String
  weak var keeper: Keeper?

  init(name: String) { self.name = name }

  class var migration: MigrationPlan {
    MigrationPlan(for: Animal.self, .step(from: 1, to: 2, .rename("title", to: "name")))
  }
}

@Model(version: 3, superclass: Animal.self)
class Dog: Animal {
  var breed: String
  var friend: Animal?

  init(name: String, breed: String) {
    self.breed = breed
    super.init(name: name)
  }
}

@Model(version: 1, superclass: Dog.self)
final class Puppy: Dog {
  var weeks: Int

  init(name: String, breed: String, weeks: Int) {
    self.weeks = weeks
    super.init(name: name, breed: breed)
  }
}

@Model(version: 1)
final class Keeper {
  var animals: [Animal] = []
}

extension Animal: Migratable {}
