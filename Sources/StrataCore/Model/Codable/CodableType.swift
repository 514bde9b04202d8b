/// What the library has to know of a type to encode or decode it: asking whether a generic type conforms may take longer than
/// encoding it.
struct CodableType {
  /// The type, where archives know it.
  let archivable: (any Archivable.Type)?
  /// The type, where values of it can be put into parts.
  let inParts: (any FlatPart.Type)?
  /// The type, where it encodes in the order of hashes.
  let hashed: (any HashOrdered.Type)?

  private init(_ type: Any.Type) {
    archivable = TypeShape.archivable(type)
    inParts = type as? any FlatPart.Type
    hashed = type as? any HashOrdered.Type
  }

  /// The types that one encoding or decoding has met. Others may find others: a conformance may belong to an actor.
  struct Catalog {
    private var types: [ObjectIdentifier: CodableType] = [:]

    @inline(__always)
    mutating func type(_ type: Any.Type) -> CodableType {
      types[ObjectIdentifier(type)] ?? add(type)
    }

    @inline(never)
    private mutating func add(_ type: Any.Type) -> CodableType {
      let found = CodableType(type)
      types[ObjectIdentifier(type)] = found
      return found
    }
  }
}

/// What encodes its elements in the order of their hashes, which changes from run to run.
protocol HashOrdered { static var hasPairs: Bool { get } }
extension Set: HashOrdered { static var hasPairs: Bool { false } }
extension Dictionary: HashOrdered { static var hasPairs: Bool { true } }
