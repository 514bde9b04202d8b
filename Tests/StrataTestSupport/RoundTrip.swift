package import StrataCore

/// Returns the value decoded from its own archive.
package func archived<T: Archivable>(_ value: T) throws -> T {
  try ArchiveDecoder().decode(T.self, from: ArchiveEncoder().encode(value))
}
