/// How the fields of a class stood in a keyed archive, which a record does not tell: an old program asks for each field
/// as it wrote it.
struct KeyedForm: Sendable {
  /// Keys of the archive by the keys of the record, where the two differ.
  private var rawKeys: [String: String] = [:]
  /// Whether the values of a key of the archive stand in the object itself, and not as an object of their own.
  private var inPlace: [String: Bool] = [:]

  /// Remembers the form of an object's fields.
  ///
  /// - Parameters:
  ///   - keys: the keys of the record.
  ///   - rawKeys: the keys of the archive, in the same order.
  ///   - inPlace: where each value stands; `nil` for nil, which stands nowhere.
  mutating func note(_ keys: [String], _ rawKeys: [String], inPlace: [Bool?]) {
    for (place, raw) in rawKeys.enumerated() {
      if keys[place] != raw { self.rawKeys[keys[place]] = raw }
      guard let isInPlace = inPlace[place] else { continue }
      self.inPlace[raw] = isInPlace && self.inPlace[raw] ?? true
    }
  }

  /// The key of the archive for a key of the record; `nil` where the archive had none.
  func rawKey(of key: String) -> String? { rawKeys[key] ?? (inPlace[key] == nil ? nil : key) }

  /// Whether values under a key of the archive stood in the object itself; `nil` where the archive did not have it.
  func isInPlace(_ rawKey: String) -> Bool? { inPlace[rawKey] }
}
