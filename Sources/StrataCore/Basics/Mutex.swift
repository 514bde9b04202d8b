internal import Foundation

/// A value protected by a lock.
///
/// Used instead of the `Mutex` of the `Synchronization` module, which needs macOS 15 and iOS 18.
///
/// `Sendable` is unchecked, because the compiler does not know that the lock protects the value.
package struct Mutex<Value>: @unchecked Sendable {
  /// Stores the lock and the protected value on the heap, because the lock must not move in memory.
  private final class Storage: ManagedBuffer<Value, pthread_mutex_t> {
    deinit { _ = withUnsafeMutablePointerToElements { pthread_mutex_destroy($0) } }
  }

  private let storage: ManagedBuffer<Value, pthread_mutex_t>

  package init(_ value: sending Value) {
    storage = Storage.create(minimumCapacity: 1) { storage in
      _ = storage.withUnsafeMutablePointerToElements { pthread_mutex_init($0, nil) }
      return value
    }
  }

  /// Runs a function while holding the lock. The lock is not recursive.
  package func withLock<R, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending R
  ) throws(Failure) -> sending R {
    let (value, lock) = storage.withUnsafeMutablePointers { ($0, $1) }
    pthread_mutex_lock(lock)
    defer {
      pthread_mutex_unlock(lock)
      // Keeps the storage alive while the pointers are in use.
      withExtendedLifetime(storage) {}
    }
    return try body(&value.pointee)
  }
}
