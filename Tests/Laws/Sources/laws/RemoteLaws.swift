import Foundation
import GRDB
import Strata
import StrataRemote
import StrataStore

/// The laws of merging a server's documents into rows.
extension Trial {
  mutating func remote() async {
    let (here, there) = (sample().plainFields, sample(other: 1).plainFields)
    do {
      let queue = try DatabaseQueue()
      let columns = H.types.map { ", \($0.key)" }.joined()
      try await queue.write {
        try $0.execute(sql: "CREATE TABLE \(H.databaseTableName) (id INTEGER PRIMARY KEY\(columns))")
      }
      let entities = try EntityStore(queue, H.self)
      guard let url = URL(string: "https://example.com") else { return }
      let remote = try await RemoteStore(
        entities,
        RemoteConfiguration(baseURL: url, mappers: EntityMapper(H.self, ids: .client), transport: NoTransport()))
      for (place, (key, type)) in H.types.enumerated() where Self.hasColumn(type) {
        guard let local = here[key], let other = there[key], !local.repeatsIdentity else { continue }
        await merge(key, type, local, other, Rows(remote: remote, entities: entities, id: place * 2 + 1))
      }
    } catch { add(.remote, H.kind.name, "\(error)") }
  }

  private struct Rows {
    let remote: RemoteStore, entities: EntityStore
    var id: Int

    func apply(_ key: String, _ tree: JSONTree) async throws {
      let document = JSONTree.object([.init(key: "id", value: .number("\(id)")), .init(key: key, value: tree)])
      _ = try await remote.apply(Data(document.text.utf8), to: H.self)
    }
    func fields() async throws -> [String: Plain]? {
      try await entities.fetchOne(H.filter(Column("id") == id))?.plainFields
    }
  }

  /// Checks that merging a server's record into a row has the same result as merging a document into a value, whether or not the row has
  /// been edited since the previous merge.
  private mutating func merge(_ key: String, _ type: String, _ here: Plain, _ there: Plain, _ rows: Rows) async {
    var mixer = Mixer(random: SeededRandom(seed: seed &+ 0xABCD))
    let part = mixer.thin(mixer.mix(here, with: there))
    guard !part.repeatsIdentity, let tree = part.jsonTree, let whole = here.jsonTree else { return }
    let shown = "\(here.shown) and \(tree.text)"
    func check(_ law: Law, _ expected: Plain?, _ shown: String, _ rows: Rows, _ prepare: (Rows) async throws -> Void)
      async
    {
      do {
        try await prepare(rows)
        try await rows.apply(key, tree)
        let after = try await rows.fields()?[key]
        let same = after?.unordered == expected?.unordered
        add(law, type, same ? nil : "\(shown) became \(after.shown), expected \(expected.shown)")
      } catch {
        let mayFail = (try? Oracle().completed(part)) == nil
        add(law, type, mayFail ? nil : "\(shown): \(error)")
      }
    }
    await check(.remote, try? Oracle().merged(here, part), shown, rows) { try await $0.apply(key, whole) }
    let before = mixer.mix(here, with: there)
    guard !before.repeatsIdentity, let base = before.jsonTree else { return }
    guard ![part, here, before].contains(where: { $0.listsAnonymousModels || $0.listsChoices }) else { return }
    var other = rows
    other.id += 1
    await check(
      .remoteEdited, try? Oracle().merged(here, part, base: before), "\(shown) from \(before.shown)", other
    ) { rows in
      try await rows.apply(key, base)
      var value = try H(fromJSON: Data(JSONTree.object([.init(key: key, value: whole)]).text.utf8))
      value.id = rows.id
      try await rows.entities.save(value, overwriting: true)
    }
  }
}

/// A transport that is never used.
private struct NoTransport: HTTPTransport {
  func send(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse { throw Refused() }
}
