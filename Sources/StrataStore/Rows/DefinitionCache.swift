internal import StrataCore

/// The definitions that were read, for all connections of a store. Only committed ones come in: what a transaction makes
/// may go again, and its number be given to another.
final class DefinitionCache: Sendable {
  /// What the archives of a type are stamped with.
  struct Kind: Hashable {
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
    var newest: [Kind: Definition] = [:]
  }

  private let state = Mutex(State())

  subscript(id: Int64) -> Definition? { state.withLock { $0.byID[id] } }

  /// The definition of a kind that was made last, as far as known.
  func newest(_ kind: Kind) -> Definition? { state.withLock { $0.newest[kind] } }

  func add(_ definition: Definition) {
    state.withLock { state in
      state.byID[definition.id] = definition
      let kind = Kind(definition.content)
      if state.newest[kind].map({ $0.id < definition.id }) ?? true { state.newest[kind] = definition }
    }
  }
}
