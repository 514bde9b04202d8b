/// Where the elements of an array or the bytes of a text are in memory: two at one address are one.
///
/// Only holds while they do, so whoever remembers one keeps them too. All empty arrays may be one.
package struct StorageIdentity: Hashable {
  private let address: UInt

  package init<T>(_ elements: [T]) { address = elements.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } }

  init(_ bytes: UnsafeBufferPointer<UInt8>) { address = UInt(bitPattern: bytes.baseAddress) }

  init(_ bytes: UnsafeRawBufferPointer) { address = UInt(bitPattern: bytes.baseAddress) }
}
