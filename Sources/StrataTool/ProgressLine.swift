internal import Foundation
internal import StrataCore

/// Shows the progress inside one file on a line of standard error, such as
/// `2/5 43 %  120 MB/s  3 s left  large.strata`.
struct ProgressLine {
  private static let interval = Duration.milliseconds(200)

  private let console: Console
  /// The position of the file among all files, such as `2/5`.
  private let place: String
  private let name: String
  private let total: Int
  private let start = ContinuousClock.now
  private var shown = ContinuousClock.now

  /// - Parameter total: the size of the file in bytes.
  init(_ console: Console, _ place: String, _ name: String, total: Int) {
    (self.console, self.place, self.name, self.total) = (console, place, name, total)
  }

  /// Shows the number of bytes that have been processed, unless the line was updated a short time ago.
  mutating func show(_ done: Int) {
    guard console.showsProgress else { return }
    let now = ContinuousClock.now
    guard now - shown >= Self.interval else { return }
    shown = now
    console.progress(Self.text(place, name, done, of: total, after: now - start))
  }

  static func text(_ place: String, _ name: String, _ done: Int, of total: Int, after time: Duration) -> String {
    let seconds = max(time / .seconds(1), 0.001)
    let rate = Double(done) / seconds
    let left = rate > 0 ? Int((Double(max(total - done, 0)) / rate).rounded(.up)) : 0
    let percent = total > 0 ? min(100, done * 100 / total) : 100
    return "\(place) \(percent) %  \(Int(rate / 1e6)) MB/s  \(left) s left  \(name.onOneLine)"
  }
}
