import Foundation

/// The backtraces that Swift Testing keeps of every error that is thrown, also of those that the library catches.
package enum BacktracesOfErrors {
  /// Keeps none from now on: they take a multiple of the time and memory of a decoder that tries one type after another.
  package static func keepNone() {
    #if os(Linux)
      // The runtime calls these, where they are not null, before it throws (swift/include/swift/Runtime/Error.h).
      for hook in ["_swift_willThrow", "_swift_willThrowTypedImpl"] {
        dlsym(nil, hook)?.storeBytes(of: nil, as: UnsafeRawPointer?.self)
      }
    #endif
  }
}
