/// Rows of text in aligned columns, which are two spaces apart.
struct TextTable {
  private var rows: [[String]] = []
  /// The number of aligned columns. Cells in later columns are not padded.
  private let columns: Int
  /// The names of the columns, which are shown above the rows.
  private let header: [String]

  init(columns: Int, header: [String] = []) { (self.columns, self.header) = (columns, header) }

  mutating func add(_ row: [String]) { rows.append(row) }

  /// The lines of the table. Empty if there are no rows.
  var lines: [String] {
    let rows = rows.isEmpty || header.isEmpty ? rows : [header] + rows
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
