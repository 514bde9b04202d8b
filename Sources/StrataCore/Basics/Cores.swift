internal import Foundation

enum Cores {
  /// The number of active processor cores. It is cached, because querying the system takes longer than compressing a small model.
  static let count = ProcessInfo.processInfo.activeProcessorCount
}
