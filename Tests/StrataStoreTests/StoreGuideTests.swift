import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

// The programs of Docs/Store.md. A test compares the two, and runs them.

struct Ticket: DescribedModel, Equatable, Sendable {
  var title: String
  var isOpen: Bool
  var labels: [String]

  static let fields = Fields(
    Ticket.self, version: 1, Field("title", \.title), Field("isOpen", \.isOpen, default: true),
    Field("labels", \.labels, default: []), make: { Ticket(title: $0, isOpen: $1, labels: $2) })
}

struct Customer: DescribedModel, Sendable {
  var name: String

  static let fields = Fields(Customer.self, version: 2, Field("name", \.name), make: { Customer(name: $0) })
}

/// As an older program had it.
struct OldCustomer: DescribedModel, Sendable {
  var name: String

  static let fields = Fields(
    OldCustomer.self, name: "Customer", version: 1, Field("name", \.name), make: { OldCustomer(name: $0) })
}

private func firstSave(_ url: URL) async throws {
  // Store:begin
  let store = try SnapshotStore(url: url)
  var ticket = Ticket(title: "Crash", isOpen: true, labels: ["urgent"])
  try await store.save(ticket, as: "ticket/7", author: "ann", note: "reported")

  ticket.isOpen = false
  try await store.save(ticket, as: "ticket/7", author: "ben", note: "fixed")

  let now = try await store.value(Ticket.self, for: "ticket/7")
  // Store:end
  #expect(now == ticket)
  // Store:begin
  for revision in try await store.history(of: "ticket/7") {
    print(
      revision.number, revision.author ?? "?",
      revision.note ?? "", revision.time)
  }
  let before = try await store.value(
    Ticket.self, for: "ticket/7", at: .revision(1))
  let yesterday = try await store.value(
    Ticket.self, for: "ticket/7", at: .time(.now - 86_400))
  // Store:end
  #expect(before?.isOpen == true && yesterday == nil)
  // Store:begin
  try await store.write { try $0.setLabel("shipped", of: "ticket/7") }
  try await store.restore("ticket/7", to: .revision(1), note: "it is back")
  try await store.undo("ticket/7")  // isOpen is false again
  try await store.redo("ticket/7")  // isOpen is true again
  let shipped = try await store.value(
    Ticket.self, for: "ticket/7", at: .label("shipped"))
  // Store:end
  #expect(shipped == ticket)
  // Store:begin
  let difference = try await store.difference(
    of: "ticket/7", from: .label("shipped"))
  for change in difference.changes {
    print(change.path, change.kind)  // isOpen changed
  }
  // Store:end
  #expect(difference.changes.map { "\($0.path)" } == ["isOpen"])
  try await conditions(store)
  // Store:begin
  for try await entry in store.entries(Ticket.self, prefix: "ticket/") {
    print(entry.key, entry.revision.number, entry.value.title)
  }
  // The archive has the bytes that ArchiveEncoder produces.
  let archive = try await store.archive(of: "ticket/7")
  // Store:end
  #expect(try ArchiveDecoder().decode(Ticket.self, from: archive).title == "Crash (again)")
}

private func conditions(_ store: SnapshotStore) async throws {
  // Store:begin
  try await store.write { transaction in
    guard var ticket = try transaction.value(Ticket.self, for: "ticket/7")
    else { return }
    ticket.title += " (again)"
    try transaction.save(ticket, as: "ticket/7", author: "ann")
    try transaction.delete("ticket/6", if: .isStill(3))
  }
  // Store:end
}

private func upgrade(_ store: SnapshotStore) async throws {
  // Store:begin
  let today = try await store.difference(
    of: "ticket/7", as: Ticket.self, from: .revision(1))
  // Store:end
  #expect(today.changes.map { "\($0.path)" } == ["title"])
  // Store:begin
  let plan = try await store.upgradePlan([Ticket.self, Customer.self])
  print(plan.pending, plan.parts)
  let report = try await store.upgrade([Ticket.self, Customer.self]) {
    print($0.upgraded, "of", $0.total)
  }
  // Store:end
  #expect(plan.pending == 1 && report.upgraded == 1)
}

private func prune(_ store: SnapshotStore) async throws {
  // Store:begin
  let plan = try await store.prune(
    [.keepLast(20), .daily(7), .weekly(8)], dryRun: true)
  // The numbers of the revisions to be removed.
  print(plan.removed["ticket/7"] ?? [])
  try await store.prune([
    .keepLast(20), .daily(7), .weekly(8), .within(.seconds(3600)),
  ])
  // Store:end
  #expect(plan.removed.isEmpty)
}

private func care(_ store: SnapshotStore, _ newURL: URL, _ backupURL: URL) async throws {
  // Store:begin
  let report = try await store.check(.full)
  for finding in report.findings {
    print(finding)  // the place, the problem and the remedy
  }
  let saved = try await store.salvage(to: newURL)
  for loss in saved.lost { print(loss) }
  // Store:end
  #expect(report.isClean && saved.lost.isEmpty)
  // Store:begin
  let backup = try await store.backup(to: backupURL)
  // Store:end
  #expect(try await SnapshotStore(url: backup.url).value(Ticket.self, for: "ticket/7") != nil)
}

private func observe(_ store: SnapshotStore) async throws {
  // Store:begin
  for try await ticket in store.values(Ticket.self, for: "ticket/7") {
    print(ticket?.title ?? "deleted")
  }
  // Store:end
}

private func insideOfAnApp(_ pool: DatabasePool, _ receipt: Ticket) async throws {
  // Store:begin
  let store = try SnapshotStore(in: pool)
  try await pool.write { db in
    try db.execute(sql: "UPDATE account SET balance = balance - 1")
    try store.write(in: db) { _ = try $0.save(receipt, as: "receipt/7") }
  }
  // Store:end
  #expect(try await store.value(Ticket.self, for: "receipt/7") == receipt)
}

@Suite("Store guide")
struct StoreGuideTests {
  @Test("The example programs match the page and run")
  func programs() async throws {
    let page = try Repository.text("Docs/Store.md")
    let programs = try Repository.examples("Store")
    let blocks = page.components(separatedBy: "```swift\n").dropFirst().filter { !$0.hasPrefix(".product") }
    // Each block of the page is one of the programs.
    #expect(blocks.count == programs.count)
    #expect(programs.count == 13)
    for program in programs {
      // In the guide, the program's lines are not indented.
      let lines = program.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      let text = lines.map { $0.hasPrefix("  ") ? String($0.dropFirst(2)) : String($0) }.joined(separator: "\n")
      #expect(page.contains(text), "\(text)")
    }
    try await withFolder { folder in
      let url = folder.appending(path: "tickets.store")
      let store = try SnapshotStore(url: url)
      try await store.write { transaction in
        for number in 1...3 { try transaction.save(number, as: "ticket/6") }
      }
      try await firstSave(url)
      try await store.write { _ = try $0.save(OldCustomer(name: "Ann"), as: "customer/1") }
      try await upgrade(store)
      try await prune(store)
      try await care(store, folder.appending(path: "salvaged"), folder.appending(path: "backup"))
      let observer = Task { try await observe(store) }
      try await Task.sleep(for: .milliseconds(20))
      observer.cancel()
      try await observer.value
      let pool = try DatabasePool(path: folder.appending(path: "app").path)
      try await pool.write { try $0.execute(sql: "CREATE TABLE account (balance INTEGER)") }
      try await insideOfAnApp(pool, Ticket(title: "Receipt", isOpen: true, labels: []))
    }
  }
}
