internal import Foundation
public import GRDB
internal import StrataCore

/// A sequence of the entities that a request fetches. It yields their current state, then a new array after each change of their
/// rows or of related rows.
///
/// Observes only changes made through the same GRDB database object, not changes made by other processes. A slow reader may
/// skip intermediate values, but always receives the latest value.
public struct EntityValues<E: Entity>: AsyncSequence {
  public typealias Failure = any Error

  let graphs: AsyncThrowingStream<EntityGraph, any Error>

  /// An iterator of the sequence.
  public struct AsyncIterator: AsyncIteratorProtocol {
    var iterator: AsyncThrowingStream<EntityGraph, any Error>.Iterator

    /// Returns the next array of entities.
    ///
    /// - Throws: the same errors as ``EntityStore/fetchAll(_:including:)``. The sequence ends after an error.
    public mutating func next() async throws -> [E]? {
      // `next(isolation:)` would avoid `nonisolated(unsafe)`, but it requires macOS 15 and iOS 18. The keyword is safe here,
      // because only one task at a time can call a mutating method.
      nonisolated(unsafe) var iterator = iterator
      defer { self.iterator = iterator }
      return try await iterator.next()?.models(of: E.self)
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(iterator: graphs.makeAsyncIterator()) }
}

extension EntityStore {
  /// Observes the entities that a request fetches. The sequence yields their current state, then a new array after each change of
  /// their rows or of related rows.
  ///
  ///     for try await blogs in entities.values(of: Blog.order(Column("pubDate"))) { … }
  ///
  /// Each call creates a new sequence, which supports a single reader.
  public func values<E: Entity>(of request: QueryInterfaceRequest<E>) -> EntityValues<E> {
    let observation = ValueObservation.tracking { [catalog] db in try Self.graph(request, catalog, db) }
      .removeDuplicates()
    do { return EntityValues(graphs: observation.newest(in: try writer) { EntityError.ofDatabase($0) }) } catch {
      return EntityValues(graphs: AsyncThrowingStream { $0.finish(throwing: error) })
    }
  }
}

extension ValueObservation {
  /// Returns a stream of the observed values, for a single reader. A slow reader may skip intermediate values, but always
  /// receives the latest value.
  package func newest(
    in reader: any DatabaseReader, _ error: @escaping @Sendable (any Error) -> any Error
  ) -> AsyncThrowingStream<Reducer.Value, any Error> where Reducer: ValueReducer, Reducer.Value: Sendable {
    AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let queue = DispatchQueue(label: "ValueObservation")
      let observer = start(in: reader, scheduling: .async(onQueue: queue)) {
        continuation.finish(throwing: error($0))
      } onChange: {
        continuation.yield($0)
      }
      continuation.onTermination = { _ in observer.cancel() }
    }
  }
}
