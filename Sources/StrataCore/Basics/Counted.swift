extension BinaryInteger {
  /// `1 object`, `2 objects`.
  ///
  /// - Parameter plural: the plural of the noun, unless it only adds an s.
  package func counting(_ noun: String, plural: String? = nil) -> String {
    "\(self) \(self == 1 ? noun : plural ?? noun + "s")"
  }
}
