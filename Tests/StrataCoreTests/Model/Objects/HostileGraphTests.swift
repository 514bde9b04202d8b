import Foundation
import Strata
import StrataTestSupport
import Testing

@Suite("Damaged and hostile graphs") struct HostileGraphTests {
  private func body() throws -> Data {
    let folder = Folder(name: "a")
    folder.files = [File(title: "x"), File(title: "y")]
    for file in folder.files { file.folder = folder }
    folder.box = Wrapping(file: folder.files[0], note: "n")
    folder.byName = ["x": folder.files[0]]
    return try ArchiveEncoder().encodeBody(folder)
  }

  @Test("Every truncation throws an error")
  func truncations() throws {
    let body = try body()
    for count in 0..<body.count {
      #expect(throws: ArchiveError.self) { try ArchiveDecoder().decodeBody(Folder.self, from: body.prefix(count)) }
    }
  }

  @Test("Flipping any bit throws an error or decodes to a value, but never traps")
  func changes() throws {
    let body = try body()
    for place in body.indices {
      for bit in 0..<8 {
        var changed = body
        changed[place] ^= 1 << bit
        do { _ = try ArchiveDecoder().decodeBody(Folder.self, from: changed) } catch let error as ArchiveError {
          _ = error.description
        }
      }
    }
  }

  private func decode(_ objects: [ArchiveValue], _ root: ArchiveValue) throws -> Folder {
    try ArchiveDecoder().decode(
      Folder.self,
      from: ArchiveEncoder().encode(ObjectGraph(objects: objects, root: root), typeName: "Folder", modelVersion: 1))
  }

  private func file(_ title: String, folder: ArchiveValue = .null) -> ArchiveValue {
    .record(
      ModelRecord(
        typeName: "File", modelVersion: 1, fields: [("title", .string(title)), ("folder", folder), ("sibling", .null)]))
  }

  @Test("U-9, X-7: a reference to an object of another type throws typeMismatch")
  func referencesToObjectsOfAnotherType() throws {
    let error = try #require(throws: ArchiveError.self) { try decode([file("x")], .reference(0)) }
    #expect(error.code == .typeMismatch)
  }

  @Test("X-7: a reference without an object is rejected when encoding and decoding")
  func referencesToNothing() throws {
    #expect(throws: ArchiveError.self) {
      try ArchiveEncoder().encode(ObjectGraph(objects: [], root: .reference(0)), typeName: "F", modelVersion: 1)
    }
    // A reference (tag 29) outside a graph.
    let bare = Data([0xD9, 0x01, 0x00, 0xD8, 0x1D, 0x00])
    #expect(throws: ArchiveError.self) { try ArchiveDecoder().decodeBody(Folder.self, from: bare) }
    #expect(throws: ArchiveError.self) { try ArchiveDecoder().decodeBody(Bug.self, from: bare) }
  }

  @Model(version: 1)
  struct Bug { var id = 0 }

  @Model(version: 1)
  struct Doubling {
    var left: [Doubling] = []
    var right: [Doubling] = []
  }

  @Test("X-7: shared values that would multiply exponentially throw limitExceeded", .tags(.long), .longRunsOnly)
  func expansion() throws {
    var objects: [ArchiveValue] = [.record(ModelRecord(typeName: "Doubling", modelVersion: 1))]
    for number in 0..<40 {
      let fields: [(String, ArchiveValue)] = [("left", [.reference(number)]), ("right", [.reference(number)])]
      objects.append(.record(ModelRecord(typeName: "HostileGraphTests.Doubling", modelVersion: 1, fields: fields)))
    }
    objects[0] = .record(ModelRecord(typeName: "HostileGraphTests.Doubling", modelVersion: 1, fields: []))
    let graph = ObjectGraph(objects: objects, root: .reference(40))
    let data = try ArchiveEncoder().encode(graph, typeName: "HostileGraphTests.Doubling", modelVersion: 1)
    let error = try #require(throws: ArchiveError.self) { try ArchiveDecoder().decode(Doubling.self, from: data) }
    #expect(error.code == .limitExceeded)
  }

  @Test("X-7: values that contain themselves throw limitExceeded")
  func selfReferences() throws {
    let fields: [(String, ArchiveValue)] = [("left", [.reference(0)]), ("right", [])]
    let graph = ObjectGraph(
      objects: [.record(ModelRecord(typeName: "HostileGraphTests.Doubling", modelVersion: 1, fields: fields))],
      root: .reference(0))
    let data = try ArchiveEncoder().encode(graph, typeName: "HostileGraphTests.Doubling", modelVersion: 1)
    let error = try #require(throws: ArchiveError.self) { try ArchiveDecoder().decode(Doubling.self, from: data) }
    #expect(error.code == .limitExceeded)
  }

  @Test("If a class has become a struct, each reference decodes to a value")
  func classesThatBecameStructs() throws {
    let record = ModelRecord(typeName: "Bug2", modelVersion: 1, fields: [("id", 7)])
    let graph = ObjectGraph(objects: [.record(record)], root: [.reference(0), .reference(0)])
    let data = try ArchiveEncoder().encode(graph, typeName: "[Bug2]", modelVersion: 1)
    #expect(try ArchiveDecoder().decode([Bug2].self, from: data).map(\.id) == [7, 7])
  }

  @Model(version: 1, name: "Bug2")
  struct Bug2 { var id = 0 }

  @Test func cyclesThroughWhatMustBeThere() throws {
    let fields: [(String, ArchiveValue)] = [("id", 1), ("other", .reference(0))]
    let graph = ObjectGraph(
      objects: [.record(ModelRecord(typeName: "HostileGraphTests.Needy", modelVersion: 1, fields: fields))],
      root: .reference(0))
    let data = try ArchiveEncoder().encode(graph, typeName: "HostileGraphTests.Needy", modelVersion: 1)
    let error = try #require(throws: ArchiveError.self) { try ArchiveDecoder().decode(Needy.self, from: data) }
    #expect(error.code == .rejected && error.pathDescription == "other")
  }

  @Model(version: 1)
  final class Needy {
    let id: Int
    let other: Needy
    init(id: Int, other: Needy) {
      self.id = id
      self.other = other
    }
  }
}
