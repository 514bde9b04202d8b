/// The address of an array's elements or of a text's bytes, for use as a cache key: equal addresses mean that two
/// values share storage.
///
/// An address is valid only while the storage exists, so the owner of the cache must retain the array or the text. All
/// empty arrays may have the same address.
package struct StorageIdentity: Hashable {
  private let address: UInt

  package init<T>(_ elements: [T]) { address = elements.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } }

  init(_ bytes: UnsafeBufferPointer<UInt8>) { address = UInt(bitPattern: bytes.baseAddress) }

  init(_ bytes: UnsafeRawBufferPointer) { address = UInt(bitPattern: bytes.baseAddress) }
}
