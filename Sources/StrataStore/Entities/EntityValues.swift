internal import Foundation
public import GRDB
internal import StrataCore

/// The entities of a request, now and after each change of their rows or of rows that they refer to.
///
/// Only changes made through the same database object are observed, not those of another process. A slow reader skips values
/// that were replaced meanwhile, but always receives the last one.
public struct EntityValues<E: Entity>: AsyncSequence {
  public typealias Failure = any Error

  let graphs: AsyncThrowingStream<EntityGraph, any Error>

  /// The iterator of the values.
  public struct AsyncIterator: AsyncIteratorProtocol {
    var iterator: AsyncThrowingStream<EntityGraph, any Error>.Iterator

    /// The next value.
    ///
    /// - Throws: the same errors as ``EntityStore/fetchAll(_:including:)``. The sequence has then ended.
    public mutating func next() async throws -> [E]? {
      // `next(isolation:)` needs no `nonisolated(unsafe)`, but requires macOS 15 and iOS 18. One task at a time can call this
      // mutating function.
      nonisolated(unsafe) var iterator = iterator
      defer { self.iterator = iterator }
      return try await iterator.next()?.models(of: E.self)
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(iterator: graphs.makeAsyncIterator()) }
}

extension EntityStore {
  /// Observes the entities of a request: now, and after each change of their rows or of rows that they refer to.
  ///
  ///     for try await blogs in entities.values(of: Blog.order(Column("pubDate"))) { … }
  ///
  /// Each call creates a separate sequence, for one reader.
  public func values<E: Entity>(of request: QueryInterfaceRequest<E>) -> EntityValues<E> {
    let observation = ValueObservation.tracking { [catalog] db in try Self.graph(request, catalog, db) }
      .removeDuplicates()
    do { return EntityValues(graphs: observation.newest(in: try openDatabase()) { EntityError.ofDatabase($0) }) } catch
    {
      return EntityValues(graphs: AsyncThrowingStream { $0.finish(throwing: error) })
    }
  }
}

extension ValueObservation {
  /// The observed values, for one reader. A slow reader skips values that were replaced meanwhile, but always receives the last one.
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
