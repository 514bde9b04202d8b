/// A pool of a few idle zlib streams.
///
/// Creating a stream allocates up to 268 KB of memory, which takes longer than deflating a small model. Resetting an
/// existing stream takes almost no time. The pool keeps only a few streams. All others are freed after use.
final class StreamPool<Stream: AnyObject & Sendable>: Sendable {
  private let idle = Mutex<[Stream]>([])
  private let capacity = 4

  /// Removes an idle stream from the pool and returns it, for exclusive use by the caller. Returns `nil` if the pool
  /// has no matching stream.
  func dequeue(where fits: (Stream) -> Bool = { _ in true }) -> Stream? {
    idle.withLock { streams in
      guard let place = streams.lastIndex(where: fits) else { return nil }
      return streams.remove(at: place)
    }
  }

  /// Returns a stream to the pool. The caller must not use the stream afterwards.
  func enqueue(_ stream: Stream) {
    // If the pool is full, the oldest stream is removed. The stream is freed after the lock has been released.
    let oldest: Stream? = idle.withLock { streams in
      streams.append(stream)
      return streams.count > capacity ? streams.removeFirst() : nil
    }
    _ = oldest
  }
}
