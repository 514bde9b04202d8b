import Foundation
import StrataCore
import StrataLegacy

/// Real-world test data from a folder. `INDEX.tsv` lists its files, and `MERGE_SEQUENCES.json` lists its merge sequences.
struct Corpus {
  let folder: URL

  private struct Sequence: Decodable {
    let seq: String
  }

  /// Returns the test cases: first the files in the order of `INDEX.tsv`, then the merge sequences. Each case has a name and a closure
  /// that writes its results.
  func cases() throws -> [(name: String, run: (inout CaseText) -> Void)] {
    let index = try String(contentsOf: folder.appending(path: "INDEX.tsv"), encoding: .utf8)
    var cases: [(name: String, run: (inout CaseText) -> Void)] = []
    for line in index.split(separator: "\n").dropFirst() {
      let cells = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard cells.count > 4 else { continue }
      let (path, kind) = (cells[0], cells[4])
      let url = folder.appending(path: path)
      let read = kind.hasPrefix("json:") ? Self.json : kind.hasPrefix("keyed:") ? Self.keyed : nil
      guard let read else { continue }
      cases.append(
        (
          path,
          { text in text.attempt("file") { text in read(try Data(contentsOf: url), &text) } }
        ))
    }
    let list = try Data(contentsOf: folder.appending(path: "MERGE_SEQUENCES.json"))
    for (place, sequence) in try JSONDecoder().decode([Sequence].self, from: list).enumerated() {
      cases.append(
        (
          sequence.seq,
          { text in text.attempt("sequence") { text in try merge(sequence.seq, UInt64(place), &text) } }
        ))
    }
    return cases
  }

  // MARK: JSON

  private static func json(_ data: Data, _ text: inout CaseText) {
    text.attempt("strict") { text in
      var strict = JSONReader()
      strict.duplicateKeys = .refuse
      text.line("strict", Digest.text(of: try JSONWriter().write(strict.read(data))))
    }
    text.attempt("read") { text in
      let value = try JSONReader().read(data)
      text.line("value", value)
      let written = try JSONWriter().write(value)
      text.line("json", String(decoding: written, as: UTF8.self))
      text.line("pretty", Digest.text(of: try JSONWriter(isPretty: true, sortsKeys: true).write(value)))
      let archive = try ArchiveEncoder().encode(value)
      text.line("archive", "\(archive.count) bytes \(Digest.text(of: archive))")
      let again = try ArchiveDecoder().decodeValue(from: archive)
      text.line("isSame", try again == value && JSONWriter().write(again) == written)
    }
  }

  // MARK: Property lists and keyed archives

  private static func keyed(_ data: Data, _ text: inout CaseText) {
    text.attempt("list") { text in
      let list = try PropertyListReader().read(data)
      text.line("list", "\(list.objects.count) objects, root \(list.root)")
      text.line("list", Digest.text(of: try PropertyListWriter().write(list)))
      text.attempt("list.value") { text in
        let value = try PropertyListReader().value(of: list)
        text.line("value", value)
        text.line("json", Digest.text(of: try JSONWriter().write(value)))
      }
    }
    text.attempt("keyed") { text in
      let keyed = try KeyedArchive(data)
      text.line("archiver", "\(keyed.archiver) \(keyed.version)")
      text.line("graph", ArchiveValue.graph(keyed.graph))
      text.line("top", keyed.topKeys)
      let archive = try ArchiveEncoder().encode(keyed.graph, typeName: "Keyed", modelVersion: nil)
      text.line("archive", "\(archive.count) bytes \(Digest.text(of: archive))")
      text.attempt("keyed.json") { text in
        text.line("json", Digest.text(of: try JSONWriter().write(.graph(keyed.graph))))
      }
      text.attempt("keyed.again") { $0.line("written", Digest.text(of: try keyed.data())) }
      text.attempt("keyed.nested") { text in
        let nested = try KeyedArchive(data, opensNested: true)
        if nested.graph.objects.count != keyed.graph.objects.count {
          text.line("nested", ArchiveValue.graph(nested.graph))
        }
      }
    }
  }

  // MARK: Sequences of documents

  private func merge(_ path: String, _ place: UInt64, _ text: inout CaseText) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: path).path)
    let documents = try names.filter { $0.hasSuffix(".json") }.sorted().map { name in
      try JSONReader().read(Data(contentsOf: folder.appending(path: "\(path)/\(name)")))
    }
    let options: [MergeOptions] = [
      MergeOptions(), MergeOptions(conflicts: .takeServer), MergeOptions(policy: .lastWriter(by: "updated_at")),
      MergeOptions(policy: .byID("id"), unlisted: .keep),
    ]
    var random = Random(seed: place)
    for (step, (base, server)) in zip(documents, documents.dropFirst()).enumerated() {
      var local = base
      for _ in 0..<3 { local = random.edited(local, 3) }
      // Also edits a key that the server has changed, so that both sides change it.
      if case .object(var object) = local, let newer = server.objectValue {
        let changed = newer.entries.filter { base[$0.key] != $0.value }.map(\.key)
        if !changed.isEmpty { object[random.oneOf(changed)] = "edited here" }
        local = .object(object)
      }
      for (number, options) in options.enumerated() {
        let name = "merge\(step).\(number)"
        text.attempt(name) { text in
          let (value, report) = try Merger(options: options).merge(server, into: local, base: number == 1 ? nil : base)
          text.line(name, value)
          text.report(name, report)
        }
      }
      text.attempt("patch\(step)") { text in
        let patch = JSONPatch(from: base, to: server)
        text.line("patch\(step)", patch.json)
        text.line("patched\(step)", try patch.applied(to: base) == server)
        text.line("mergePatch\(step)", JSONMergePatch.patch(from: local, to: server))
        text.line("difference\(step)", ValueDifference(from: base, to: server).changes.map(\.description))
      }
    }
  }
}
