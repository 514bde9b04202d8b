/// A storage that keeps lists after the server stops.
protocol ResourceStorage: Sendable {
  /// Writes a whole list.
  ///
  /// - Throws: if writing fails. The former list is kept in this case.
  mutating func write(_ list: ResourceList) throws
}
