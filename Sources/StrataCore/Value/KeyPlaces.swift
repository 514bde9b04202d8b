/// Finds the index of the entry with a given key in a list of entries. A lookup table is built only if necessary.
struct KeyPlaces {
  private let entries: [ArchiveObject.Entry]
  private var places: [ExactKey: Int]?

  init(_ entries: [ArchiveObject.Entry]) { self.entries = entries }

  /// Returns the index of the entry with this key; `nil` if there is none.
  ///
  /// - Parameter guess: the index at which the key is expected. If every key is at its expected index, no lookup table
  ///   is built.
  /// - Complexity: constant. In a long list, the first lookup of a key that is not at its expected index takes linear
  ///   time, because this lookup builds the table.
  mutating func place(of key: String, near guess: Int) -> Int? {
    if entries.indices.contains(guess), ExactKey.isSame(entries[guess].key, key) { return guess }
    if entries.count <= 8 { return entries.firstIndex { ExactKey.isSame($0.key, key) } }
    if let places { return places[ExactKey(key)] }
    let places = Dictionary(
      entries.enumerated().map { (ExactKey($1.key), $0) }, uniquingKeysWith: { first, _ in first })
    self.places = places
    return places[ExactKey(key)]
  }
}

/// Matches the entries of an old and a new object by key.
struct KeyPairs {
  /// For each new entry, the index of the old entry with the same key; `nil` if there is none.
  private(set) var olds: [Int?] = []
  /// For each old entry, the index of the new entry with the same key; `nil` if there is none.
  private(set) var news: [Int?]

  /// Matches the entries of both objects by key.
  ///
  /// - Complexity: linear in the number of entries.
  init(_ old: [ArchiveObject.Entry], _ new: [ArchiveObject.Entry]) {
    var places = KeyPlaces(old)
    news = [Int?](repeating: nil, count: old.count)
    olds.reserveCapacity(new.count)
    var next = 0
    for (number, entry) in new.enumerated() {
      let place = places.place(of: entry.key, near: next)
      olds.append(place)
      if let place {
        news[place] = number
        next = place + 1
      }
    }
  }
}

extension ModelRecord {
  /// Returns a copy of the record that has the given fields instead of its own.
  ///
  /// - Parameter fields: some of the existing fields, in their existing order, followed by new fields.
  ///
  /// - Complexity: linear in the number of fields.
  func with(_ fields: [ArchiveObject.Entry]) -> ModelRecord {
    var gone: [Int] = []
    var next = 0
    for (place, key) in shape.keys.enumerated() {
      if next < fields.count, ExactKey.isSame(fields[next].key, key) { next += 1 } else { gone.append(place) }
    }
    let added = fields[next...].map(\.key)
    // If only a few fields change, the new shape is derived from the old shape. Derived shapes are cached, so that
    // records with the same changes share one shape.
    if gone.count + added.count <= 4 {
      let left = gone.reversed().reduce(shape) { $0.removing(at: $1) }
      return ModelRecord(shape: added.reduce(left) { $0.adding($1) }, values: fields.map(\.value))
    }
    return ModelRecord(shape: shape.limited(to: fields.map(\.key)), values: fields.map(\.value))
  }
}
