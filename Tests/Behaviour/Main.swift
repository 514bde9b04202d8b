import Foundation

/// Prints the library's results for many inputs, so that a script can compare them with earlier ones.
///
///     strata-behaviour merges FIRST COUNT
///     strata-behaviour records FIRST COUNT
///     strata-behaviour corpus FOLDER
///
/// Prints one line per case: its name, a tab and the digest of its text. With `--full`, prints the text instead of its digest, with a tab
/// between its lines. With `--blocks N`, each line covers N cases: it has the digest of all their texts and one character per case. If a
/// case has changed, its character almost always differs.
@main
struct Main {
  static let usage = """
    usage: strata-behaviour merges|records FIRST COUNT [--full | --blocks N]
           strata-behaviour corpus FOLDER [--full] [--only NAME]

    """

  private var isFull = false
  private var blockSize = 1
  private var only: String?

  static func main() {
    var words = Array(CommandLine.arguments.dropFirst())
    var main = Main()
    func option(_ name: String) -> String? {
      guard let place = words.firstIndex(of: name), place + 1 < words.count else { return nil }
      defer { words.removeSubrange(place...(place + 1)) }
      return words[place + 1]
    }
    if let size = option("--blocks") { main.blockSize = max(Int(size) ?? 0, 0) }
    main.only = option("--only")
    if let place = words.firstIndex(of: "--full") {
      words.remove(at: place)
      main.isFull = true
    }
    guard main.blockSize > 0, !(main.isFull && main.blockSize > 1), main.run(words) else {
      FileHandle.standardError.write(Data(usage.utf8))
      exit(64)
    }
  }

  private func run(_ words: [String]) -> Bool {
    switch words.first {
    case "merges" where words.count == 3: return simulated(words, Merges.run)
    case "records" where words.count == 3: return simulated(words, Records.run)
    case "corpus" where words.count == 2:
      do {
        try corpus(URL(fileURLWithPath: words[1], isDirectory: true))
        return true
      } catch {
        FileHandle.standardError.write(Data("error: \(error)\n".utf8))
        exit(1)
      }
    default: return false
    }
  }

  private func simulated(_ words: [String], _ write: (Int, inout CaseText) -> Void) -> Bool {
    guard let first = Int(words[1]), let count = Int(words[2]), first >= 0, count >= 0 else { return false }
    var text = CaseText()
    var start = first
    while start < first + count {
      let end = min(start + blockSize, first + count)
      var digest = Digest()
      var marks: [UInt8] = []
      for seed in start..<end {
        text.removeAll()
        autoreleased { write(seed, &text) }
        guard !isFull else { continue }
        let known = Digest(of: text.bytes)
        digest.add(known.text.utf8)
        marks.append(known.mark)
      }
      if blockSize == 1 {
        show("\(start)", isFull ? text.bytes : Array(Digest(of: text.bytes).text.utf8))
      } else {
        show("\(start)..<\(end)", Array(digest.text.utf8) + [CaseText.separator] + marks)
      }
      start = end
    }
    return true
  }

  private func corpus(_ folder: URL) throws {
    var text = CaseText()
    for (name, run) in try Corpus(folder: folder).cases() where only == nil || only == name {
      text.removeAll()
      autoreleased { run(&text) }
      show(name, isFull ? text.bytes : Array(Digest(of: text.bytes).text.utf8))
    }
  }

  /// Prints a line without buffering. If the process crashes, the last line shows how far it got.
  private func show(_ name: String, _ text: [UInt8]) {
    let line = Array(name.utf8) + [CaseText.separator] + text + [UInt8(ascii: "\n")]
    do { try FileHandle.standardOutput.write(contentsOf: line) } catch { exit(74) }
  }

  private func autoreleased(_ body: () -> Void) {
    #if canImport(ObjectiveC)
      autoreleasepool(invoking: body)
    #else
      body()
    #endif
  }
}
