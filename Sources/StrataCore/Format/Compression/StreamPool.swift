/// A few idle zlib streams.
///
/// Creating a stream allocates up to 268 KB of memory, which takes longer than deflating a small model. Resetting one
/// is almost free. The pool keeps only a few streams. Further ones are freed after use.
final class StreamPool<Stream: AnyObject & Sendable>: Sendable {
  private let idle = Mutex<[Stream]>([])
  private let capacity = 4

  /// Takes an idle stream out of the pool, which then belongs to the caller alone.
  func dequeue(where fits: (Stream) -> Bool = { _ in true }) -> Stream? {
    idle.withLock { streams in
      guard let place = streams.lastIndex(where: fits) else { return nil }
      return streams.remove(at: place)
    }
  }

  /// Puts a stream back. The caller must not use it any more.
  func enqueue(_ stream: Stream) {
    // A removed stream is freed after the lock.
    let oldest: Stream? = idle.withLock { streams in
      streams.append(stream)
      return streams.count > capacity ? streams.removeFirst() : nil
    }
    _ = oldest
  }
}
