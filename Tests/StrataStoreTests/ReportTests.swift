import Foundation
import StrataCore
import Testing

@testable import StrataStore

@Suite("Report descriptions: one line, without values")
struct ReportTests {
  private static let finding = StoreFinding(.revision, key: "a", revision: 1, "it is damaged", advice: "go back")

  @Test("Reports of checks, salvages, backups and prunes are one line each")
  func maintenance() {
    let clean = StoreCheckReport(level: .full, findings: [], omittedFindings: 0, checkedRevisions: 1)
    #expect("\(clean)" == "1 revision read, no problems found")
    let damaged = StoreCheckReport(level: .full, findings: [Self.finding], omittedFindings: 2, checkedRevisions: 10)
    #expect("\(damaged)" == "10 revisions read, 3 problems found")
    let salvage = StoreSalvageReport(revisions: 9, keys: 1, lost: [Self.finding], omittedLosses: 1)
    #expect("\(salvage)" == "9 revisions of 1 key recovered, 2 losses")
    let backup = StoreBackup(url: URL(filePath: "/x/a\nb.strata"), size: 4096, sequence: 7)
    #expect("\(backup)" == #"a\nb.strata: 4096 bytes, revisions up to sequence 7"#)
    var prune = StorePruneReport(isDryRun: true)
    (prune.removed, prune.kept, prune.skipped) = (["a": [1, 2], "b": [1]], 4, [Self.finding])
    #expect("\(prune)" == "3 revisions of 2 keys would be removed, 4 kept, 1 key skipped")
  }

  @Test("Upgrade plans and reports are one line each")
  func upgrades() {
    let old = StoreUpgradePlan.Part(typeName: "Note", modelVersion: 1, state: .old, revisions: 3)
    let text = StoreUpgradePlan.Part(typeName: "String", modelVersion: nil, state: .current, revisions: 1)
    #expect(
      "\(StoreUpgradePlan(parts: [old, text], failed: 1))"
        == "2 revisions to upgrade; 1 skipped because an earlier upgrade failed; Note 1: 3 revisions, old; "
        + "String: 1 revision, current")
    var report = StoreUpgradeReport()
    (report.upgraded, report.total, report.unchanged) = (10, 12, 1)
    report.findings.add(Self.finding)
    #expect("\(report)" == "10 of 12 upgraded, 1 unchanged, 1 failed")
  }

  @Test("Store status and revision descriptions are one line each and contain no values")
  func store() throws {
    let store = try SnapshotStore(inMemory: StoreOptions())
    try store.write {
      try $0.save("secret", as: "note\u{7}", note: "secret")
      try $0.delete("note\u{7}")
    }
    let revisions = try store.read { try $0.history(of: "note\u{7}") }
    #expect(
      revisions.map(\.description) == [
        #"key note\u{7}, revision 1: save, String, sequence 1"#,
        #"key note\u{7}, revision 2: delete, sequence 2"#,
      ])
    let status = try store.status()
    #expect("\(status)" == "0 keys, 1 revision, \(status.fileSize) bytes, sequence 2")
    #expect(status.types.map(\.description) == ["String: 1 revision, including the last revision of 0 keys"])
  }
}
