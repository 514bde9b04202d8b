internal import CAtomics

/// An integer that several threads can load and store without a lock. A thread that loads a value also sees all memory writes
/// that preceded the store of that value.
struct AtomicWord: ~Copyable, @unchecked Sendable {
  private let word: UnsafeMutablePointer<UInt>

  init(_ value: UInt = 0) {
    word = .allocate(capacity: 1)
    word.initialize(to: value)
  }

  deinit { word.deallocate() }

  borrowing func load() -> UInt { strata_atomic_load(word) }
  borrowing func store(_ value: UInt) { strata_atomic_store(word, value) }

  /// Stores the value if the current value is zero. Returns the current value after the call.
  borrowing func storeIfZero(_ value: UInt) -> UInt { strata_atomic_store_if_zero(word, value) }
}
