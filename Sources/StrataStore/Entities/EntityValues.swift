internal import Foundation
public import GRDB
internal import StrataCore

/// The entities of a request: now, and after each change of a row that they lead to.
///
/// Changes are those made through the same database: what another process writes is not seen. Whoever is slow misses values that
/// were replaced meanwhile, and never the last one.
public struct EntityValues<E: Entity>: AsyncSequence {
  public typealias Failure = any Error

  let graphs: AsyncThrowingStream<EntityGraph, any Error>

  /// Goes through the values.
  public struct AsyncIterator: AsyncIteratorProtocol {
    var iterator: AsyncThrowingStream<EntityGraph, any Error>.Iterator

    /// The next value.
    ///
    /// - Throws: as ``EntityStore/fetchAll(_:including:)``. The sequence has then ended.
    public mutating func next() async throws -> [E]? {
      // `next(isolation:)`, which needs no mark, needs macOS 15 and iOS 18. One task at a time can call this mutating function.
      nonisolated(unsafe) var iterator = iterator
      defer { self.iterator = iterator }
      return try await iterator.next()?.make(E.self)
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(iterator: graphs.makeAsyncIterator()) }
}

extension EntityStore {
  /// The entities of a request, now and after each change of a row that they lead to.
  ///
  ///     for try await blogs in entities.values(of: Blog.order(Column("pubDate"))) { … }
  ///
  /// Each call makes a sequence of its own, for one reader.
  public func values<E: Entity>(of request: QueryInterfaceRequest<E>) -> EntityValues<E> {
    let observation = ValueObservation.tracking { [catalog] db in try Self.graph(request, catalog, db) }
      .removeDuplicates()
    return EntityValues(graphs: observation.newest(in: writer) { EntityError.ofDatabase($0) })
  }
}

extension ValueObservation {
  /// The values that are observed, for one reader. A slow reader misses values that were replaced meanwhile, and never the last one.
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
