/// For records of a newer model version: the oldest version that may read them, and the oldest version that may write
/// them again.
package struct VersionFloors: Sendable, Hashable {
  /// The oldest version that may read the records.
  package let reader: Int
  /// The oldest version that may also write the records again.
  package let writer: Int

  package init(reader: Int, writer: Int) { (self.reader, self.writer) = (reader, writer) }
}
