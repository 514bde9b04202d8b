import DequeModule
import OrderedCollections
import Strata
import StrataCollections

enum Weekday: String, Archivable, CaseIterable { case monday, tuesday, wednesday, thursday }

@Model(version: 1)
struct Dish: Equatable, Hashable {
  let id: Int
  var name = ""
  var price = 0
}

/// A model with all kinds of ordered collections.
@Model(version: 2)
struct Menu: Equatable {
  var prices: OrderedDictionary<String, Int> = [:]
  var byDay: OrderedDictionary<Weekday, Dish> = [:]
  var byNumber: OrderedDictionary<Int, String> = [:]
  var tags: OrderedSet<String> = []
  var dishes: OrderedSet<Dish> = []
  var optional: OrderedDictionary<String, Int>?
  var nested: [OrderedDictionary<String, OrderedSet<Int>>] = []
}

@Model(version: 1)
struct Kitchen: Equatable {
  var queue: Deque<Dish> = []
  var shelves: OrderedDictionary<Int, Dish> = [:]
  var plans: OrderedDictionary<Int, [Dish]>?
}

@Model(version: 1)
struct Ledger: Equatable {
  var notes: OrderedDictionary<Int, String> = [:]
  var merging = MergeState()
}

/// Version 1 of `Menu`, which used the collections of the standard library.
@Model(version: 1, name: "Menu")
struct OldMenu: Equatable {
  var prices: [String: Int] = [:]
  var byDay: [Weekday: Dish] = [:]
  var byNumber: [Int: String] = [:]
  var tags: Set<String> = []
  var dishes: [Dish] = []
}

extension Menu: Migratable {
  static let migration = MigrationPlan(.step(from: 1, to: 2))
}

/// The generator SplitMix64 (Steele, Lea and Flood, 2014).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}

extension Menu {
  static func random(using generator: inout SeededGenerator) -> Menu {
    func some<T>(_ make: (Int) -> T) -> [T] {
      (0..<12).shuffled(using: &generator).prefix(Int.random(in: 0...6, using: &generator)).map(make)
    }
    var menu = Menu()
    for name in some({ "dish \($0)" }) { menu.prices[name] = Int.random(in: -9...9, using: &generator) }
    for day in Weekday.allCases.shuffled(using: &generator).prefix(2) {
      menu.byDay[day] = Dish(id: 1, name: day.rawValue)
    }
    for number in some({ $0 - 6 }) { menu.byNumber[number] = "\(number)" }
    menu.tags = OrderedSet(some { "tag \($0)" })
    menu.dishes = OrderedSet(some { Dish(id: $0, price: $0) })
    if Bool.random(using: &generator) { menu.optional = menu.prices }
    menu.nested = some { ["a": [$0, 0], "": [], "\($0)": [$0]] }
    return menu
  }
}
