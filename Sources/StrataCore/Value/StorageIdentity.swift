/// The address of the elements of an array or the bytes of a text. Equal addresses mean shared storage.
///
/// Valid only while the storage is alive, so retain the array or text as well. All empty arrays may share one.
package struct StorageIdentity: Hashable {
  private let address: UInt

  package init<T>(_ elements: [T]) { address = elements.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } }

  init(_ bytes: UnsafeBufferPointer<UInt8>) { address = UInt(bitPattern: bytes.baseAddress) }

  init(_ bytes: UnsafeRawBufferPointer) { address = UInt(bitPattern: bytes.baseAddress) }
}
