package import StrataCore

/// Archives a value and returns the value decoded from the archive.
package func archived<T: Archivable>(_ value: T) throws -> T {
  try ArchiveDecoder().decode(T.self, from: ArchiveEncoder().encode(value))
}
