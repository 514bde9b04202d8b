internal import CAtomics

/// A number that threads read and set without a lock. What a thread wrote before it set the number is seen by a thread that reads it.
struct AtomicWord: ~Copyable, @unchecked Sendable {
  private let word: UnsafeMutablePointer<UInt>

  init(_ value: UInt = 0) {
    word = .allocate(capacity: 1)
    word.initialize(to: value)
  }

  deinit { word.deallocate() }

  borrowing func load() -> UInt { strata_atomic_load(word) }
  borrowing func store(_ value: UInt) { strata_atomic_store(word, value) }

  /// Sets the number if it is zero. Returns the number afterwards.
  borrowing func storeIfZero(_ value: UInt) -> UInt { strata_atomic_store_if_zero(word, value) }
}
