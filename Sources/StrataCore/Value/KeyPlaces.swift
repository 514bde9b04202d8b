/// The indices of the keys of entries, for many lookups.
struct KeyPlaces {
  private let entries: [ArchiveObject.Entry]
  private var places: [ExactKey: Int]?

  init(_ entries: [ArchiveObject.Entry]) { self.entries = entries }

  /// The index of a key; `nil` if there is none.
  ///
  /// - Parameter guess: the index at which the key is expected. Lookups in the order of the entries need nothing else.
  /// - Complexity: constant, except for the first key of many that is not at its guess, which builds a lookup table.
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

/// The entries of two objects that have the same keys.
struct KeyPairs {
  /// For each new entry, the index of the old one with its key.
  private(set) var olds: [Int?] = []
  /// For each old entry, the index of the new one with its key.
  private(set) var news: [Int?]

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
  /// Returns the record with other fields: some of the existing ones in their order, followed by new ones.
  ///
  /// - Complexity: linear in the number of fields.
  func with(_ fields: [ArchiveObject.Entry]) -> ModelRecord {
    var gone: [Int] = []
    var next = 0
    for (place, key) in shape.keys.enumerated() {
      if next < fields.count, ExactKey.isSame(fields[next].key, key) { next += 1 } else { gone.append(place) }
    }
    let added = fields[next...].map(\.key)
    // Records of a kind share their shape, even after a few fields were removed or added.
    if gone.count + added.count <= 4 {
      let left = gone.reversed().reduce(shape) { $0.removing(at: $1) }
      return ModelRecord(shape: added.reduce(left) { $0.adding($1) }, values: fields.map(\.value))
    }
    let shape = RecordShape(
      typeName: typeName, modelVersion: modelVersion, keys: fields.map(\.key), levels: superclasses)
    return ModelRecord(shape: shape, values: fields.map(\.value))
  }
}
