/// The CBOR major types, tags and initial bytes that archives use (RFC 8949 and the IANA tag registry). Docs/Format.md explains each of
/// them.
package enum CBOR {
  package enum Major {
    package static let unsigned: UInt8 = 0
    package static let negative: UInt8 = 1
    package static let bytes: UInt8 = 2
    package static let text: UInt8 = 3
    package static let array: UInt8 = 4
    package static let map: UInt8 = 5
    package static let tag: UInt8 = 6
    package static let simple: UInt8 = 7
  }

  package enum Tag {
    package static let epochDate: UInt64 = 1
    package static let positiveInteger: UInt64 = 2
    package static let negativeInteger: UInt64 = 3
    package static let decimal: UInt64 = 4
    package static let stringReference: UInt64 = 25
    package static let genericObject: UInt64 = 27
    package static let shareable: UInt64 = 28
    package static let sharedReference: UInt64 = 29
    package static let url: UInt64 = 32
    package static let uuid: UInt64 = 37
    package static let stringNamespace: UInt64 = 256
    package static let set: UInt64 = 258
    /// The tag of a placeholder for a long string or byte string that a store keeps outside the row. It occurs only in rows of a
    /// store (Docs/StoreFormat.md).
    package static let rowContent: UInt64 = 57342
    package static let inlineRecord: UInt64 = 57343
    package static let firstRecord: UInt64 = 57344
    package static let lastRecord: UInt64 = 57599
  }

  /// The initial byte of an array whose count is stored in the next four bytes.
  package static let countedArrayByte: UInt8 = 0x9A
  package static let falseByte: UInt8 = 0xF4
  package static let trueByte: UInt8 = 0xF5
  package static let nullByte: UInt8 = 0xF6
  package static let floatByte: UInt8 = 0xFA
  package static let doubleByte: UInt8 = 0xFB

  /// The names of generic objects (tag 27), for values that no registered tag can represent losslessly.
  package enum Generic {
    /// A date as seconds since 2001-01-01T00:00:00Z. Used if an epoch date (tag 1) would lose precision.
    package static let date = "Date.2001"
    /// A URL that is relative to a base URL. Its content is the relative part and the base URL.
    package static let url = "URL"
    /// The decimal value NaN.
    package static let decimal = "Decimal.NaN"
    /// A graph of objects. Its content is an array of the objects (tag 28), and a root value that refers to them by number (tag 29).
    package static let graph = "graph"
    /// A reference to an object that is written later in the same graph.
    package static let later = "later"
    /// A JSON number that is kept as text (``ArchiveValue/number(_:)``).
    package static let number = "number"
  }
}
