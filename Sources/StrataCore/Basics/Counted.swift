extension BinaryInteger {
  /// Returns the number with the noun: `1 object`, `2 objects`.
  ///
  /// - Parameter plural: the plural of the noun, if it is not formed with an s.
  package func counting(_ noun: String, plural: String? = nil) -> String {
    "\(self) \(self == 1 ? noun : plural ?? noun + "s")"
  }
}
