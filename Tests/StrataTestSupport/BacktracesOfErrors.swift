import Foundation

/// The backtraces that Swift Testing stores for every thrown error, including those that the library catches.
package enum BacktracesOfErrors {
  /// Stops recording backtraces, because they multiply the time and memory of a decoder that tries one type after another.
  package static func keepNone() {
    #if os(Linux)
      // The runtime calls these hooks before it throws, unless they are null (swift/include/swift/Runtime/Error.h).
      for hook in ["_swift_willThrow", "_swift_willThrowTypedImpl"] {
        dlsym(nil, hook)?.storeBytes(of: nil, as: UnsafeRawPointer?.self)
      }
    #endif
  }
}
