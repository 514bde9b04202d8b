/// Where the lists stay when the server stops.
protocol ResourceStorage: Sendable {
  /// Writes a list as a whole.
  ///
  /// - Throws: where that is not possible; then the old one is still there.
  mutating func write(_ list: ResourceList) throws
}
