internal import StrataCore

/// The results of `verify` or `upgrade`, which can be shown as lines of text or as JSON.
struct FileReport {
  /// The maximum width to which a column is padded. A wider cell affects only its own line.
  private static let mostColumns = 60

  /// The outcomes that are possible for the command, in the order in which their counts are shown.
  let outcomes: [FileResult.Outcome]
  private(set) var results: [FileResult] = []

  init(_ outcomes: [FileResult.Outcome]) { self.outcomes = outcomes }

  mutating func add(_ result: FileResult) { results.append(result) }

  /// Prints the report.
  ///
  /// - Returns: the exit code.
  func show(asJSON: Bool, isQuiet: Bool, _ console: Console) throws -> Int32 {
    console.clearProgress()
    if asJSON {
      try console.write(json(isQuiet: isQuiet).jsonText())
    } else {
      try console.lines(lines(isQuiet: isQuiet, console.paint))
    }
    return results.contains { $0.outcome.isFailure } ? 1 : 0
  }

  private func shown(_ isQuiet: Bool) -> [FileResult] {
    isQuiet ? results.filter { $0.outcome.isFailure } : results
  }

  private func count(_ outcome: FileResult.Outcome) -> Int { results.count { $0.outcome == outcome } }

  /// Returns one line for each file, in aligned columns. If there are several files, a line of counts follows unless
  /// `isQuiet` is set.
  ///
  /// - Parameter isQuiet: whether only failures are shown.
  private func lines(isQuiet: Bool, _ paint: (String, TextStyle?) -> String) -> [String] {
    let results = shown(isQuiet)
    func widest(_ texts: [String]) -> Int { min(texts.map(\.terminalWidth).max() ?? 0, Self.mostColumns) }
    let contents = results.compactMap(\.content)
    let words = widest(results.map(\.outcome.rawValue))
    let paths = widest(results.map(\.path.onOneLine))
    let names = widest(contents.map(\.name.onOneLine))
    let counts = widest(contents.map { $0.count.counted($0.noun) })
    let sizes = widest(contents.map { $0.size.counted("byte") })
    let lines = results.map { result in
      let word = result.outcome.rawValue
      var cells = [
        paint(word, result.outcome.style) + "".padded(to: words - word.count), result.path.onOneLine.padded(to: paths),
      ]
      if let content = result.content {
        cells += [
          content.name.onOneLine.padded(to: names), content.count.counted(content.noun).indented(to: counts),
          content.size.counted("byte").indented(to: sizes),
        ]
        cells += content.losses.map(\.onOneLine)
      } else {
        cells.append(result.message ?? "")
      }
      return cells.joined(separator: "  ")
    }
    return lines + (isQuiet || results.count < 2 ? [] : [summary(paint)])
  }

  private func summary(_ paint: (String, TextStyle?) -> String) -> String {
    let counts = outcomes.compactMap { outcome in
      let count = count(outcome)
      return count == 0 ? nil : paint("\(count.grouped) \(outcome.rawValue)", outcome.style)
    }
    return results.count.counted("file") + ": " + counts.joined(separator: ", ")
  }

  private func json(isQuiet: Bool) -> ArchiveValue {
    [
      "files": .array(shown(isQuiet).map(\.json)),
      "counts": .object(
        ArchiveObject(outcomes.map { .init(key: $0.rawValue, value: .integer(count($0))) })),
    ]
  }
}
