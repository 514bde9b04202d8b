internal import Foundation

enum Cores {
  /// The number of active cores, determined on first use. Asking the system each time would take longer than compressing a
  /// small model.
  static let count = ProcessInfo.processInfo.activeProcessorCount
}
