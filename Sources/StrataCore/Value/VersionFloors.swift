/// The oldest versions of a model that may read, and write again, the records of a newer version.
package struct VersionFloors: Sendable, Hashable {
  /// The oldest version that may read it.
  package let reader: Int
  /// The oldest version that may also write it again.
  package let writer: Int

  package init(reader: Int, writer: Int) { (self.reader, self.writer) = (reader, writer) }
}
