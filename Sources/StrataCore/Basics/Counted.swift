extension BinaryInteger {
  /// Returns the number with a noun in the singular or plural, such as `1 object` or `2 objects`.
  ///
  /// - Parameter plural: the plural of the noun; `nil` to append an “s” to the noun.
  package func counting(_ noun: String, plural: String? = nil) -> String {
    "\(self) \(self == 1 ? noun : plural ?? noun + "s")"
  }
}
