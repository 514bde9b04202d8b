/// The type name, the model version and the keys shared by records of the same kind.
///
/// Records of the same kind share one shape, and each record stores only its values. A shape caches the shapes derived from it, so records
/// that undergo the same change, such as a renamed key, share their new shape too.
package final class RecordShape: Sendable {
  package let typeName: String
  package let modelVersion: Int?
  package let keys: [String]
  /// For a record of a class model: the superclasses of the class, with their versions, starting with the direct
  /// superclass.
  package let levels: [ModelRecord.Superclass]
  /// The oldest model versions that may read and write the records; `nil` if no older version may read them.
  package let floors: VersionFloors?
  /// The fields that are incomplete because parts of the incoming data could not be read. Derived shapes have the same gaps.
  package let gaps: [ExactKey: Gap]
  /// The total size of all keys in bytes.
  package let keyBytes: Int
  /// The cached ``mark`` (type name, version and superclasses as text); `nil` if the mark is computed on demand, because most intermediate
  /// shapes of a migration never need one.
  private let knownMark: String?
  /// The index of each key in `keys`; `nil` if there are only a few keys, because a linear search is then faster.
  private let places: [ExactKey: Int]?
  private let changes = Mutex<[Change: RecordShape]>([:])

  /// The reason why a merge could not read the incoming value of a field completely.
  package enum Gap: UInt8, Sendable, Comparable {
    /// The value is an unknown enum case, so the records lack the field.
    case unknownCase = 1
    /// Elements were skipped because they are unknown enum cases.
    case unknownElements
    /// Elements were skipped because they are invalid, so the list is not complete.
    case invalidElements

    package static func < (left: Gap, right: Gap) -> Bool { left.rawValue < right.rawValue }
  }

  private enum Change: Hashable {
    case add(ExactKey)
    case remove(Int)
    case rename(Int, ExactKey)
    case version(ExactKey, Int?)
    case levels(names: [ExactKey], versions: [Int])
  }

  private init(
    typeName: String, modelVersion: Int?, keys: [String], levels: [ModelRecord.Superclass], floors: VersionFloors?,
    gaps: [ExactKey: Gap] = [:], knownMark: String?
  ) {
    self.gaps = gaps
    self.typeName = typeName
    self.modelVersion = modelVersion
    self.keys = keys
    self.levels = levels
    self.floors = floors
    self.knownMark = knownMark
    keyBytes = keys.reduce(0) { $0 + $1.utf8.count }
    places =
      keys.count <= 24
      ? nil : Dictionary(keys.enumerated().map { (ExactKey($1), $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// - Parameter isOfModel: whether this is the shape of the records that a model writes. The ``mark`` of this shape is cached, because it
  ///   is written into every archive that contains the model.
  package convenience init(
    typeName: String, modelVersion: Int?, keys: [String], levels: [ModelRecord.Superclass] = [],
    floors: VersionFloors? = nil, isOfModel: Bool = false
  ) {
    let mark = isOfModel ? Self.mark(typeName, modelVersion, levels) : nil
    self.init(
      typeName: typeName, modelVersion: modelVersion, keys: keys, levels: levels, floors: floors, knownMark: mark)
  }

  /// Creates a shape by parsing its ``mark``, such as `Issue@3`.
  ///
  /// - Parameter floors: returns the oldest versions that may read and write the given version of a model.
  package convenience init(
    mark: String, keys: [String], floors: (_ typeName: String, _ version: Int?) -> VersionFloors? = { _, _ in nil }
  ) {
    let (typeName, version, levels) = Self.parse(mark)
    // If the version in `mark` has leading zeros, the text is not cached, because marks are always written without leading zeros.
    let hasZeros = version.map { mark.utf8.count != typeName.utf8.count + 1 + String($0).utf8.count } ?? false
    self.init(
      typeName: typeName, modelVersion: version, keys: keys, levels: levels, floors: floors(typeName, version),
      knownMark: levels.isEmpty && !hasZeros ? mark : nil)
  }

  /// Whether no key occurs twice.
  package var keysAreUnique: Bool {
    guard let places else {
      return keys.indices.allSatisfy { place in !keys[..<place].contains { ExactKey.isSame($0, keys[place]) } }
    }
    return places.count == keys.count
  }

  package func place(of key: String) -> Int? {
    guard let places else { return keys.firstIndex { ExactKey.isSame($0, key) } }
    return places[ExactKey(key)]
  }

  /// The type name and the version as one string, as written in a record definition: `Issue@3`, or `Issue` if the
  /// record has no version. The superclasses of an object's class follow, as in `Dog@2 : Animal@1`.
  package var mark: String { knownMark ?? Self.mark(typeName, modelVersion, levels) }

  private static func mark(_ typeName: String, _ version: Int?, _ levels: [ModelRecord.Superclass]) -> String {
    guard let version else { return typeName }
    let mark = "\(typeName)@\(version)"
    if levels.isEmpty { return mark }
    return ([mark] + levels.map { "\($0.typeName)@\($0.modelVersion)" }).joined(separator: separator)
  }

  private static let separator = " : "

  /// Parses a mark. If the mark contains ` : ` and each part has a version, the parts are a class and its superclasses. Otherwise, the
  /// whole mark is one type name with an optional version.
  private static func parse(_ mark: String) -> (typeName: String, modelVersion: Int?, levels: [ModelRecord.Superclass])
  {
    // Fast path: most marks contain no superclasses, so they need not be split.
    guard mark.utf8.contains(UInt8(ascii: ":")) else {
      let (typeName, modelVersion) = parseMark(mark)
      return (typeName, modelVersion, [])
    }
    let parts = mark.split(separator: separator, omittingEmptySubsequences: false).map { parseMark(String($0)) }
    let levels = parts.dropFirst().compactMap { part in
      part.modelVersion.map { ModelRecord.Superclass(typeName: part.typeName, modelVersion: $0) }
    }
    guard parts.count > 1, levels.count == parts.count - 1, let version = parts[0].modelVersion else {
      let (typeName, modelVersion) = parseMark(mark)
      return (typeName, modelVersion, [])
    }
    return (parts[0].typeName, version, levels)
  }

  /// Splits a mark into a type name and a version at its last `@`, if only digits follow.
  package static func parseMark(_ mark: String) -> (typeName: String, modelVersion: Int?) {
    guard let at = mark.lastIndex(of: "@") else { return (mark, nil) }
    let digits = mark[mark.index(after: at)...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }), let version = Int(digits) else {
      return (mark, nil)
    }
    return (String(mark[..<at]), version)
  }

  /// Whether parsing the mark returns the same type name, version and superclasses. False if the type name ends with text that is parsed as
  /// a version, such as `@3`, or if the version is negative.
  package var hasPlainMark: Bool {
    let isSimple = !typeName.utf8.contains { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: ":") }
    if isSimple, levels.isEmpty { return modelVersion ?? 0 >= 0 }
    return Self.parse(mark) == (typeName, modelVersion, levels)
  }

  /// Returns this shape with the given keys. Returns `self` if the keys are the same.
  package func limited(to keys: [String]) -> RecordShape {
    hasKeys(keys) ? self : with(gaps, limitedTo: keys)
  }

  /// Returns a new shape with the given gaps, limited to the given keys.
  package func with(_ gaps: [ExactKey: Gap], limitedTo keys: [String]) -> RecordShape {
    RecordShape(
      typeName: typeName, modelVersion: modelVersion, keys: keys, levels: levels, floors: floors, gaps: gaps,
      knownMark: nil)
  }

  package func adding(_ key: String) -> RecordShape {
    changed(.add(ExactKey(key))) { ($0.typeName, $0.modelVersion, $0.keys + [key]) }
  }

  package func removing(at place: Int) -> RecordShape {
    changed(.remove(place)) { shape in
      var keys = shape.keys
      keys.remove(at: place)
      return (shape.typeName, shape.modelVersion, keys)
    }
  }

  package func renaming(at place: Int, to key: String) -> RecordShape {
    changed(.rename(place, ExactKey(key))) { shape in
      var keys = shape.keys
      keys[place] = key
      return (shape.typeName, shape.modelVersion, keys)
    }
  }

  package func named(_ typeName: String, version: Int?) -> RecordShape {
    changed(.version(ExactKey(typeName), version)) { (typeName, version, $0.keys) }
  }

  /// Returns this shape with the given keys added. Up to 64 keys are added one by one, so that records with the same keys share the
  /// resulting shape. More keys are added at once, because adding them one by one would be slow.
  package func adding(_ others: [String]) -> RecordShape {
    if others.count <= 64 { return others.reduce(self) { $0.adding($1) } }
    return with(gaps, limitedTo: keys + others)
  }

  /// Returns this shape with a newer version, and with the oldest versions that may read and write its records. Used for records that were
  /// written by a newer version of the model than this program has.
  package func newer(_ version: Int, _ floors: VersionFloors) -> RecordShape {
    RecordShape(
      typeName: typeName, modelVersion: version, keys: keys, levels: levels, floors: floors, gaps: gaps, knownMark: nil)
  }

  package func withSuperclasses(_ levels: [ModelRecord.Superclass]) -> RecordShape {
    let change = Change.levels(names: levels.map { ExactKey($0.typeName) }, versions: levels.map(\.modelVersion))
    return changed(change, levels) { ($0.typeName, $0.modelVersion, $0.keys) }
  }

  private func changed(
    _ change: Change, _ newLevels: [ModelRecord.Superclass]? = nil, _ make: (RecordShape) -> (String, Int?, [String])
  ) -> RecordShape {
    changes.withLock { changes in
      if let known = changes[change] { return known }
      let (typeName, modelVersion, keys) = make(self)
      // `floors` applies to one version of one model, so it is dropped if the type name or the version changes.
      let isSame = modelVersion == self.modelVersion && ExactKey.isSame(typeName, self.typeName)
      let shape = RecordShape(
        typeName: typeName, modelVersion: modelVersion, keys: keys, levels: newLevels ?? levels,
        floors: isSame ? floors : nil, gaps: gaps, knownMark: nil)
      // The cache is limited, because hostile data could require any number of derived shapes.
      if changes.count < 64 { changes[change] = shape }
      return shape
    }
  }
}

extension RecordShape: Hashable {
  package static func == (left: RecordShape, right: RecordShape) -> Bool {
    left === right || left.hasSameType(as: right) && left.hasSameKeys(as: right)
  }

  package func hasSameType(as other: RecordShape) -> Bool {
    typeName == other.typeName && modelVersion == other.modelVersion && levels == other.levels
  }

  package func hasSameKeys(as other: RecordShape) -> Bool { hasKeys(other.keys) }

  private func hasKeys(_ others: [String]) -> Bool {
    keys.count == others.count && zip(keys, others).allSatisfy { ExactKey.isSame($0, $1) }
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(typeName)
    hasher.combine(modelVersion)
    hasher.combine(keys)
  }
}
