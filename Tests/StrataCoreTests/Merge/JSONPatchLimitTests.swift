import Foundation
import StrataCore
import Testing

@Suite("JSON patches: limits")
struct JSONPatchLimitTests {
  private static func nested(_ depth: Int, _ inside: ArchiveValue = 1) -> ArchiveValue {
    (0..<depth).reduce(inside) { value, level in level.isMultiple(of: 2) ? [value] : ["a": value] }
  }

  private static func pointer(_ depth: Int) -> ValuePath { ValuePath((0..<depth).map { _ in .key("a") }) }

  private func limit(_ body: () throws -> ArchiveValue) -> ArchiveLimits.Limit? {
    let error = #expect(throws: ArchiveError.self) { _ = try body() }
    #expect(error?.code == .limitExceeded)
    return error?.limit
  }

  @Test("Copying a document into itself stops at the depth limit, with an error that names the operation")
  func depth() throws {
    let root = ValuePath()
    let patch = JSONPatch((0..<50_000).map { _ in .copy(from: root, to: ValuePath(key: "a")) })
    let error = #expect(throws: ArchiveError.self) { _ = try patch.applied(to: [:]) }
    #expect(error?.code == .limitExceeded && error?.limit == .depth && error?.codingPath == [.index(511)])
    let fine = JSONPatch((0..<511).map { _ in .copy(from: root, to: ValuePath(key: "a")) })
    #expect(try fine.applied(to: [:]) == (0..<511).reduce([:] as ArchiveValue) { value, _ in ["a": value] })
  }

  @Test("Copies that repeatedly double the document exceed the count limit")
  func size() throws {
    let doubling = (0..<64).map { JSONPatch.Operation.copy(from: ValuePath(), to: ValuePath(key: String($0))) }
    #expect(limit { try JSONPatch(doubling).applied(to: [:]) } == .count)
    let list = (0..<64).map { _ in JSONPatch.Operation.copy(from: ValuePath(key: "0"), to: ValuePath("0", "-")) }
    #expect(limit { try JSONPatch(list).applied(to: [[1]]) } == .count)
    // A patch may enlarge any document to sixteen times its size.
    let large = ArchiveValue.array((0..<100_000).map { .integer($0) })
    let copies = (0..<15).map { JSONPatch.Operation.copy(from: ValuePath(key: "a"), to: ValuePath(key: String($0))) }
    #expect(try JSONPatch(copies).applied(to: ["a": large]).objectValue?.count == 16)
    #expect(limit { try JSONPatch(copies + copies).applied(to: ["a": large]) } == .count)
  }

  @Test("Every operation enforces the depth limit on the values it inserts")
  func deepValues() throws {
    for operation in 0..<4 {
      func applied(_ depth: Int) throws -> ArchiveValue {
        let deep = Self.nested(depth)
        let document: ArchiveValue = ["a": ["a": [:]], "b": deep]
        let here = Self.pointer(3)
        let patch: JSONPatch.Operation =
          switch operation {
          case 0: .add(here, deep)
          case 1: .copy(from: ValuePath(key: "b"), to: here)
          case 2: .move(from: ValuePath(key: "b"), to: here)
          default: .replace(Self.pointer(2), ["a": deep])
          }
        return try JSONPatch([patch]).applied(to: document)
      }
      #expect(try applied(509)["a"]?["a"]?["a"] == Self.nested(509))
      #expect(limit { try applied(510) } == .depth)
    }
  }

  @Test("Moves that nest values ever deeper exceed the depth limit")
  func moves() {
    let document = ArchiveValue.object(ArchiveObject((0..<5000).map { .init(key: String($0), value: [:]) }))
    let patch = JSONPatch(
      (1..<5000).map { .move(from: ValuePath(key: String($0 - 1)), to: ValuePath(String($0), "a")) })
    #expect(limit { try patch.applied(to: document) } == .depth)
  }

  @Test("A document beyond the depth limit is rejected; the limit can be raised up to a fixed maximum")
  func deepDocuments() throws {
    let patch = JSONPatch([.add(ValuePath(key: "a"), 1)])
    func document(_ depth: Int) -> ArchiveValue { ["b": Self.nested(depth - 1)] }
    #expect(try patch.applied(to: document(512))["a"] == 1)
    #expect(limit { try patch.applied(to: document(513)) } == .depth)
    #expect(limit { try JSONPatch().applied(to: document(2100)) } == .depth)
    var limits = ArchiveLimits()
    limits.depth = 600
    #expect(try patch.applied(to: document(600), limits: limits)["a"] == 1)
    limits.depth = 1_000_000
    #expect(limit { try patch.applied(to: document(2100), limits: limits) } == .depth)
  }

  @Test("Documents of the maximum depth are compared, patched and tested on a 4 MB stack")
  func smallStack() async throws {
    let (old, new) = (Self.nested(510, [1, .double(.nan)]), Self.nested(510, [2, .double(.nan)]))
    let result: [Bool] = await withCheckedContinuation { continuation in
      let thread = Thread {
        let same = JSONPatch([.test(ValuePath(), old)])
        let patch = JSONPatch(from: old, to: new), difference = ValueDifference(from: old, to: new)
        continuation.resume(returning: [
          (try? patch.applied(to: old)) != nil, (try? difference.applied(to: old)) != nil,
          (try? same.applied(to: old)) != nil, difference.changes.count == 1, patch.operations.count == 1,
        ])
      }
      thread.stackSize = 4 << 20
      thread.start()
    }
    #expect(result == [true, true, true, true, true])
  }
}
