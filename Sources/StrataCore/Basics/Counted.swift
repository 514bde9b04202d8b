extension BinaryInteger {
  /// `1 object`, `2 objects`.
  ///
  /// - Parameter plural: the noun for several, where it does not end in a mere s.
  package func counting(_ noun: String, plural: String? = nil) -> String {
    "\(self) \(self == 1 ? noun : plural ?? noun + "s")"
  }
}
