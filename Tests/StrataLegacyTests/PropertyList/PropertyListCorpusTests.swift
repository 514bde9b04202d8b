import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

/// A property list of the corpus, as its index describes it.
private struct CorpusList: Sendable, CustomTestStringConvertible {
  let path: String
  let kind: String
  /// Whether Python's plistlib accepts it.
  let parses: Bool
  let isList: Bool

  var testDescription: String { path }

  static let all: [CorpusList] = Corpus.index.compactMap { cells in
    guard cells.count >= 8, cells[4].hasPrefix("keyed:") else { return nil }
    return CorpusList(
      path: cells[0], kind: String(cells[4].dropFirst(6)), parses: cells[7] == "ok",
      isList: cells[6] == "bplist" || cells[6] == "xml")
  }

  func data() throws -> Data { try Corpus.data(path) }
}

@Suite("Property lists of the corpus", .readsCorpus)
struct PropertyListCorpusTests {
  /// Lists that the library accepts although Python rejects them. One contains UTF-8 text marked as ASCII, and one has a NUL byte after the
  /// end.
  static let onlyReadHere = ["joeferner__0cbf22d2__sample1.bplist", "cjwl__18c0446d__Cocotron.keyedArchive"]

  /// Valid lists among the hostile ones: one without a document type, and one with a comment in an empty key.
  static let harmless = ["DHowett__2c27698a__s01.plist", "DHowett__32a312e8__s04.plist"]

  static func isRead(_ path: String, parses: Bool, isHostile: Bool) -> Bool {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    return isHostile ? harmless.contains(name) : parses || onlyReadHere.contains(name)
  }

  @Test("Real lists round-trip; hostile lists and other formats throw")
  func readOrRefused() throws {
    var read = 0
    var refused = 0
    for entry in CorpusList.all {
      let data = try entry.data()
      if Self.isRead(entry.path, parses: entry.parses, isHostile: entry.kind == "plist-hostile") {
        // The files of parser-fixture-bad are invalid archives, but valid property lists.
        let list = try #require(try? PropertyListReader().read(data), "\(entry.path)")
        let written = try PropertyListWriter().write(list)
        #expect(try PropertyListReader().read(written) == list, "\(entry.path)")
        if entry.kind == "plist-plain" { _ = try PropertyListReader().value(of: list) }
        read += 1
      } else {
        let error = #expect(throws: ArchiveError.self, "\(entry.path)") { try PropertyListReader().read(data) }
        // An unclosed quotation mark swallows the rest of the text, so such a list is reported as truncated.
        let codes: [ArchiveError.Code] = entry.isList ? [.damaged, .truncated] : [.notAnArchive]
        #expect(error.map { codes.contains($0.code) } == true, "\(entry.path): \(error?.reason ?? "")")
        #expect(error?.byteOffset.map { $0 <= data.count } == true, "\(entry.path)")
        refused += 1
      }
    }
    print("property lists of the corpus: \(read) read, \(refused) refused")
    #expect(read > 200 && refused > 5)
  }

  @Test("Python's plistlib reads the same values", .tags(.long))
  func sameAsPython() throws {
    let entries = Effort.sample(60, of: CorpusList.all.filter(\.isList))
    let paths = try entries.map { try Corpus.url($0.path).path }
    // One of the hostile lists makes plistlib run forever.
    let known = zip(entries, paths).filter { $0.0.parses && $0.0.kind != "plist-hostile" }
    guard let lines = try python(known.map(\.1)) else {
      print("SKIPPED: python3 is not there, so property lists were not compared with plistlib")
      return
    }
    #expect(lines.count == known.count)
    for (entry, line) in zip(known.map(\.0), lines) {
      let list = try PropertyListReader().read(entry.data())
      let other = try JSONReader().read(Data(line.utf8))
      #expect(plain(list, list.root) == other, "\(entry.path)")
    }
    print("property lists compared with plistlib: \(lines.count)")
  }

  @Test("Python's plistlib reads the same values from encoded keyed archives", .tags(.long))
  func keyedArchivesAsPython() throws {
    var written = Effort.sample(60, of: CorpusList.all.filter(\.isList)).compactMap {
      try? KeyedArchive($0.data()).data()
    }
    #expect(written.count > Effort.rounds(30, long: 100))
    for sample in KeyedWritingTests.samples {
      written.append(try KeyedArchive(ObjectGraph(objects: [], root: sample)).data())
    }
    try withFolder { folder in
      var paths: [String] = []
      for (place, data) in written.enumerated() {
        let url = folder.appending(path: String(place))
        try data.write(to: url)
        paths.append(url.path)
      }
      guard let lines = try python(paths) else {
        print("SKIPPED: python3 is not there, so keyed archives were not compared with plistlib")
        return
      }
      #expect(lines.count == written.count)
      for (data, line) in zip(written, lines) {
        let list = try PropertyListReader().read(data)
        #expect(try JSONReader().read(Data(line.utf8)) == plain(list, list.root))
      }
    }
  }

  /// The output of `Tests/Interop/plist_json.py`, or `nil` if Python is missing.
  private func python(_ paths: [String]) throws -> [String]? {
    try withFolder { folder in
      let (input, output) = (folder.appending(path: "in"), folder.appending(path: "out"))
      try Data(paths.joined(separator: "\n").utf8).write(to: input)
      try Data().write(to: output)
      let script = Repository.root.appending(path: "Tests/Interop/plist_json.py")
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = ["python3", script.path]
      process.standardInput = try FileHandle(forReadingFrom: input)
      process.standardOutput = try FileHandle(forWritingTo: output)
      guard (try? process.run()) != nil else { return nil }
      process.waitUntilExit()
      // `env` exits with 127 if it does not find the program.
      if process.terminationStatus == 127 { return nil }
      #expect(process.terminationStatus == 0)
      return try String(contentsOf: output, encoding: .utf8).split(separator: "\n").map(String.init)
    }
  }

  /// Converts an object to the form that the script prints.
  private func plain(_ list: PropertyList, _ number: Int) -> ArchiveValue {
    switch list.objects[number] {
    case .null: return .null
    case .bool(let value): return .bool(value)
    case .integer(let value): return ArchiveValue(value)
    case .float(let value): return plain(Double(value))
    case .double(let value): return plain(value)
    case .date(let value):
      return ["date": .integer(Int64((value.timeIntervalSinceReferenceDate * 1_000_000).rounded()))]
    case .data(let value): return ["data": .string(hexadecimal(value))]
    case .string(let value): return .string(value)
    case .uid(let value): return ["uid": .integer(value)]
    case .array(let elements), .set(let elements): return .array(elements.map { plain(list, $0) })
    case .dictionary(let entries):
      return ["dict": .array(entries.map { [plain(list, $0.key), plain(list, $0.value)] })]
    }
  }

  private func plain(_ value: Double) -> ArchiveValue {
    ["real": .string(hexadecimal(withUnsafeBytes(of: value.bitPattern.bigEndian) { Data($0) }))]
  }

  private func hexadecimal(_ data: Data) -> String {
    data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
