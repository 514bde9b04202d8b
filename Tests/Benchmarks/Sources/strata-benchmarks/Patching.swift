import Foundation
import StrataCore

extension Runner {
  /// Compares the cost per operation in a JSON Patch of 100,000 operations with the cost per operation in one of 1,000.
  func comparePatches() throws {
    for (name, make) in [("", PatchedDocument.keyed), ("-list", PatchedDocument.list)] {
      guard ["grow/patch" + name, "grow/patch-make" + name].contains(where: wants) else { continue }
      let (many, few) = (try make(100_000), try make(1000))
      try time(
        "grow/patch" + name, inverted: true, oursPer: many.patch.operations.count,
        theirsPer: few.patch.operations.count
      ) {
        consume(try many.patch.applied(to: many.old))
      } theirs: {
        consume(try few.patch.applied(to: few.old))
      }
      try time(
        "grow/patch-make" + name, inverted: true, oursPer: many.patch.operations.count,
        theirsPer: few.patch.operations.count
      ) {
        consume(JSONPatch(from: many.old, to: many.new))
      } theirs: {
        consume(JSONPatch(from: few.old, to: few.new))
      }
    }
  }
}

/// Two documents and the patch that turns the old one into the new one, with one operation per key or element.
private struct PatchedDocument {
  let old: ArchiveValue
  let new: ArchiveValue
  let patch: JSONPatch

  private init(_ old: ArchiveValue, _ new: ArchiveValue, _ count: Int) throws {
    (self.old, self.new) = (old, new)
    patch = JSONPatch(from: old, to: new)
    guard patch.operations.count == count, try patch.applied(to: old) == new else {
      throw Failure("a patch of \(count) operations did not make the new document")
    }
  }

  /// Returns two versions of an object. Of every ten operations in the patch, one removes a key, one adds a key, and eight change a
  /// value.
  static func keyed(_ count: Int) throws -> PatchedDocument {
    func object(_ places: some Sequence<Int>, _ value: (Int) -> ArchiveValue) -> ArchiveValue {
      .object(ArchiveObject(places.map { .init(key: "key \($0)", value: value($0)) }))
    }
    let tenth = count / 10
    return try PatchedDocument(
      object(0..<count - tenth) { .integer($0) }, object(tenth..<count) { .integer($0 + 1) }, count)
  }

  /// Returns two versions of a list of objects, in which every object has a changed member.
  static func list(_ count: Int) throws -> PatchedDocument {
    func list(_ name: String) -> ArchiveValue {
      .array((0..<count).map { ["id": .integer($0), "name": .string("\(name) \($0)")] })
    }
    return try PatchedDocument(["list": list("old")], ["list": list("new")], count)
  }
}
