internal import Foundation

enum Cores {
  /// The number of active cores. The number is cached, because asking the system takes longer than compressing a small model.
  static let count = ProcessInfo.processInfo.activeProcessorCount
}
