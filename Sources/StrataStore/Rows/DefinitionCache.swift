internal import StrataCore

/// A cache of definitions for all connections of a store. It contains only committed definitions, because an uncommitted
/// definition may be rolled back and its identifier reused.
final class DefinitionCache: Sendable {
  /// The fields of a stamp except the count, for use as a dictionary key.
  struct StampKey: Hashable {
    let typeName: String
    let modelVersion: Int?
    let fingerprint: UInt64

    init(_ stamp: Stamp) {
      (typeName, modelVersion, fingerprint) = (stamp.typeName, stamp.modelVersion, stamp.fingerprint)
    }

    init(_ content: Definition.Content) {
      (typeName, modelVersion, fingerprint) = (content.typeName, content.modelVersion, content.fingerprint)
    }
  }

  private struct State {
    var byID: [Int64: Definition] = [:]
    var newest: [StampKey: Definition] = [:]
  }

  private let state = Mutex(State())

  subscript(id: Int64) -> Definition? { state.withLock { $0.byID[id] } }

  /// Returns the newest cached definition with the given type, version and fingerprint.
  func newest(_ key: StampKey) -> Definition? { state.withLock { $0.newest[key] } }

  func add(_ definition: Definition) {
    state.withLock { state in
      state.byID[definition.id] = definition
      let key = StampKey(definition.content)
      if state.newest[key].map({ $0.id < definition.id }) ?? true { state.newest[key] = definition }
    }
  }
}
