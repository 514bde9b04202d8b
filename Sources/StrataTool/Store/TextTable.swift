/// Rows of text whose columns are aligned, two spaces apart.
struct TextTable {
  private var rows: [[String]] = []
  /// The number of aligned columns. Later columns are not padded.
  private let columns: Int

  init(columns: Int) { self.columns = columns }

  mutating func add(_ row: [String]) { rows.append(row) }

  var lines: [String] {
    let widths = (0..<columns).map { column in
      rows.map { column < $0.count ? $0[column].terminalWidth : 0 }.max() ?? 0
    }
    return rows.map { row in
      var line = row.enumerated().map { $0 < columns ? $1.padded(to: widths[$0]) : $1 }.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}
