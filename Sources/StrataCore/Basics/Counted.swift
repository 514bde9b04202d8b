extension BinaryInteger {
  /// `1 object`, `2 objects`.
  package func counting(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
