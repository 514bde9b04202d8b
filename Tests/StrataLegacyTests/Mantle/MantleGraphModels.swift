import Strata

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

extension Animal: Migratable {}
