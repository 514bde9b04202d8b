import Foundation
import Strata
import StrataTestSupport
import Testing

// The code of Docs/FromNSKeyedArchiver.md. A test compares and runs it.

// FromNSKeyedArchiver:begin
final class RCRecipe: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let title: String
  let servings: Int
  let isFavourite: Bool
  let ingredients: [RCIngredient]

  init(
    _ title: String,
    servings: Int,
    isFavourite: Bool,
    _ ingredients: [RCIngredient]
  ) {
    self.title = title
    self.servings = servings
    self.isFavourite = isFavourite
    self.ingredients = ingredients
  }

  init?(coder: NSCoder) {
    let title = coder.decodeObject(of: NSString.self, forKey: "title")
    let parts = coder.decodeObject(
      of: [NSArray.self, RCIngredient.self], forKey: "ingredients")
    guard let title, let parts = parts as? [RCIngredient] else { return nil }
    self.title = title as String
    servings = coder.decodeInteger(forKey: "servings")
    isFavourite = coder.decodeBool(forKey: "fav")
    ingredients = parts
  }

  func encode(with coder: NSCoder) {
    coder.encode(title as NSString, forKey: "title")
    coder.encode(servings, forKey: "servings")
    coder.encode(isFavourite, forKey: "fav")
    coder.encode(ingredients as NSArray, forKey: "ingredients")
  }
}

final class RCIngredient: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let name: String
  let grams: Double

  init(_ name: String, grams: Double) {
    self.name = name
    self.grams = grams
  }

  init?(coder: NSCoder) {
    let name = coder.decodeObject(of: NSString.self, forKey: "name")
    guard let name else { return nil }
    self.name = name as String
    grams = coder.decodeDouble(forKey: "grams")
  }

  func encode(with coder: NSCoder) {
    coder.encode(name as NSString, forKey: "name")
    coder.encode(grams, forKey: "grams")
  }
}

@Model(version: 1)
struct Recipe: Equatable {
  var title: String
  var servings = 1
  var isFavourite = false
  var ingredients: [Ingredient] = []
}

@Model(version: 1)
struct Ingredient: Equatable {
  var name: String
  var grams: Double
}

extension Recipe: LegacyModel {
  static var legacyNames: [String] { ["Cookbook.RCRecipe"] }
}

extension Ingredient: LegacyModel {
  static var legacyNames: [String] { ["Cookbook.RCIngredient"] }
}

extension Recipe: Migratable {
  static let migration = MigrationPlan(
    .step(from: 0, to: 1, .rename("fav", to: "isFavourite")))
}

struct Cookbook {
  let keyed: URL
  let file: ArchiveFile<[Recipe]>

  init(folder: URL) {
    keyed = folder.appending(path: "recipes.archive")
    file = ArchiveFile(folder.appending(path: "recipes.strata"))
  }

  func load() throws -> [Recipe] {
    if let saved = try file.load() { return saved.value }
    guard FileManager.default.fileExists(atPath: keyed.path) else {
      return []
    }
    return try ArchiveDecoder().decode(
      [Recipe].self, fromKeyed: Data(contentsOf: keyed))
  }

  func save(_ recipes: [Recipe]) throws { try file.save(recipes) }
}

func classes(of data: Data) throws -> Set<String> {
  let records = try KeyedArchive(data).graph.objects.compactMap(\.recordValue)
  return Set(records.map(\.typeName))
}

extension Cookbook {
  /// Writes a file that the app without Strata can open.
  func handBack(_ recipes: [Recipe]) throws {
    var options = KeyedWriting()
    // decodeInteger(forKey:) and similar methods expect inlined numbers.
    options.numbers = .inPlace
    let data = try ArchiveEncoder().encodeKeyed(recipes, options: options) {
      guard $0.typeName == "Recipe" else { return }
      $0.rename("isFavourite", to: "fav")
      $0.modelVersion = 0
    }
    try data.write(to: keyed, options: .atomic)
  }
}
// FromNSKeyedArchiver:end

/// A class whose objects have other keys, under the name of `RCRecipe`.
final class OtherRecipe: NSObject, NSCoding {
  let title: String?
  let note: String
  init(_ title: String?, note: String) { (self.title, self.note) = (title, note) }
  init?(coder: NSCoder) { nil }
  func encode(with coder: NSCoder) {
    if let title { coder.encode(title as NSString, forKey: "title") }
    coder.encode(note as NSString, forKey: "note")
  }
}

@Suite("NSKeyedArchiver guide")
struct FromNSKeyedArchiverGuideTests {
  private let recipe = Recipe(
    title: "Bread", servings: 4, isFavourite: true,
    ingredients: [Ingredient(name: "Flour", grams: 500), Ingredient(name: "Salt", grams: 10.5)])

  /// A file that the app wrote. Its classes were in the module `Cookbook`. On Linux, `setClassName(_:for:)` has no effect.
  private func file(_ root: NSObject) throws -> Data {
    let archiver = NSKeyedArchiver(requiringSecureCoding: false)
    archiver.encode(root, forKey: NSKeyedArchiveRootObjectKey)
    var list = try PropertyListReader().read(archiver.encodedData)
    list.objects = list.objects.map {
      guard case .string(let text) = $0 else { return $0 }
      let name = text.replacing("StrataLegacyTests.", with: "Cookbook.")
      return .string(name.replacing("OtherRecipe", with: "RCRecipe"))
    }
    return try PropertyListWriter().write(list)
  }

  private func written() throws -> Data {
    let ingredients = [RCIngredient("Flour", grams: 500), RCIngredient("Salt", grams: 10.5)]
    return try file([RCRecipe("Bread", servings: 4, isFavourite: true, ingredients)] as NSArray)
  }

  @Test("The code blocks of the page match the example")
  func code() throws {
    let program = try #require(Repository.examples("FromNSKeyedArchiver").first)
    let blocks = try Repository.blocks(in: Repository.text("Docs/FromNSKeyedArchiver.md"))
    let missing = Repository.parts(of: blocks, missingFrom: String(program))
    #expect(blocks.count == 5 && missing.isEmpty, "\(blocks.count) \(missing)")
  }

  @Test("The app's file is migrated, and the original file is kept")
  func takenOver() throws {
    try withFolder { folder in
      let cookbook = Cookbook(folder: folder)
      #expect(try cookbook.load().isEmpty)
      let written = try written()
      try written.write(to: cookbook.keyed)
      #expect(try cookbook.load() == [recipe])
      #expect(try classes(of: written) == ["Cookbook.RCRecipe", "Cookbook.RCIngredient"])
      try cookbook.save([recipe, recipe])
      #expect(try Cookbook(folder: folder).load() == [recipe, recipe])
      #expect(try Data(contentsOf: cookbook.keyed) == written)
    }
  }

  @Test("A key without a field is reported, and a missing key takes the default or throws")
  func keys() throws {
    var report = DecodingReport()
    let data = try file(OtherRecipe("Bread", note: "n"))
    let recipe = try ArchiveDecoder().decode(Recipe.self, fromKeyed: data, report: &report)
    #expect(recipe == Recipe(title: "Bread") && report.unusedKeys.map { "\($0)" } == ["Recipe.note"])
    archiveError(.missingValue) {
      try ArchiveDecoder().decode(Recipe.self, fromKeyed: file(OtherRecipe(nil, note: "n")))
    }
  }

  @Test("An exported file can be opened by the app without Strata")
  func handedBack() throws {
    try withFolder { folder in
      let cookbook = Cookbook(folder: folder)
      try cookbook.handBack([recipe])
      let data = try Data(contentsOf: cookbook.keyed)
      #expect(try ArchiveDecoder().decode([Recipe].self, fromKeyed: data) == [recipe])
      let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
      unarchiver.setClass(RCRecipe.self, forClassName: "Cookbook.RCRecipe")
      unarchiver.setClass(RCIngredient.self, forClassName: "Cookbook.RCIngredient")
      let recipes = unarchiver.decodeObject(
        of: [NSArray.self, RCRecipe.self, RCIngredient.self], forKey: NSKeyedArchiveRootObjectKey)
      let first = try #require((recipes as? [RCRecipe])?.first)
      #expect(first.title == "Bread" && first.servings == 4 && first.isFavourite)
      #expect(first.ingredients.map(\.name) == ["Flour", "Salt"] && first.ingredients.map(\.grams) == [500, 10.5])
    }
  }
}
