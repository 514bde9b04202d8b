import Foundation
import Strata
import StrataTestSupport
import Testing

@Suite("Random models round-trip")
struct WrittenPropertyTests {
  /// Encodes a value for comparison, because the bytes distinguish numbers that `==` considers equal.
  private func form<T: Archivable>(_ value: T) throws -> Data { try ArchiveEncoder().encodeBody(value) }

  private func check<M: RandomModel>(_ type: M.Type, _ seed: UInt64) throws {
    var random = WrittenRandom(seed: seed)
    let model = M.random(&random)
    let comment = Testing.Comment(rawValue: "\(M.self), seed \(seed)")
    let decoder = ArchiveDecoder(subclasses: [WrittenLoop.self])
    let body: Data
    do { body = try form(model) } catch let error as ArchiveError {
      // If the model cannot be archived, the encoder throws this error and no other.
      #expect(error.code == .notEncodable, "\(error) (\(comment))")
      return
    }
    let data = try ArchiveEncoder().encode(model)
    func same(_ road: String, _ make: () throws -> M) {
      do {
        let found = try form(make())
        #expect(found == body, "\(road): \(comment)")
      } catch { Issue.record("\(road): \(error) (\(comment))") }
    }
    same("archive") { try decoder.decode(M.self, from: data) }
    same("body") { try decoder.decodeBody(M.self, from: body) }
    same("upgrade") {
      try decoder.decode(M.self, from: ArchiveUpgrader(M.self, subclasses: [WrittenLoop.self]).upgrade(data))
    }
    same("array") { try decoder.decode([M].self, from: ArchiveEncoder().encode([model])).first ?? model }
    same("general road") {
      let value = try ArchiveDecoder().decodeValue(from: data)
      guard case .record(let record) = value else { return try decoder.decode(M.self, from: data) }
      return try decoder.decode(M.self, from: ArchiveEncoder().encode(record))
    }
    // If a format cannot represent a value, writing the value throws. Reading never throws.
    func writes<T>(_ write: () throws -> T) -> T? {
      do { return try write() } catch {
        let code = (error as? ArchiveError)?.code
        #expect(code == .notEncodable, "\(error) (\(comment))")
        return nil
      }
    }
    if let json = writes({ try model.jsonData() }), !M.schema.isClass {
      same("JSON") { try M(fromJSON: json) }
      same("JSON value") { try M(fromJSON: JSONReader().read(json)) }
    }
    if let json = writes({ try model.jsonData(isPretty: true, sortsKeys: true) }), !M.schema.isClass {
      same("sorted JSON") { try M(fromJSON: json) }
    }
    if let adapter = try? JSONAdapter<M>(), let json = writes({ try adapter.encode(model) }), !M.schema.isClass {
      same("adapter") { try adapter.decode(json) }
    }
    if !M.schema.isEnum, let dictionary = writes({ try model.dictionaryValue }), !M.schema.isClass {
      same("dictionary") { try M(dictionary: dictionary) }
    }
    // Copies of objects are not compared: they share the objects that the original refers to, and these may refer back to the original.
    if !M.schema.isClass { same("copy") { try model.copy() } }
  }

  @Test(
    "X-34: random models of every kind round-trip through archives, JSON, dictionaries and upgrades",
    .tags(.long),
    arguments: 0..<UInt64(Effort.rounds(2, long: 20)))
  func models(seed: UInt64) throws {
    for round in 0..<15 as Range<UInt64> {
      let seed = 34_000 + seed * 1000 + round
      try check(WrittenScalars.self, seed)
      try check(WrittenContainers.self, seed)
      try check(WrittenChoice.self, seed)
      try check(WrittenSpot.self, seed)
      try check(WrittenHolder.self, seed)
      try check(WrittenByLine.self, seed)
      try check(WrittenKnot.self, seed)
      try check(WrittenLoop.self, seed)
    }
  }
}

extension ModelSchema {
  fileprivate var isClass: Bool { ["WrittenKnot", "WrittenLoop"].contains(name) }
  fileprivate var isEnum: Bool { name == "WrittenChoice" }
}
