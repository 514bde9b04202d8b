extension BinaryInteger {
  /// Returns the number with the noun: `1 object`, `2 objects`.
  ///
  /// - Parameter plural: the plural of the noun; `nil` if it is the noun with an appended “s”.
  package func counting(_ noun: String, plural: String? = nil) -> String {
    "\(self) \(self == 1 ? noun : plural ?? noun + "s")"
  }
}
