/// What the decoders of one value share: its parts, and how to find some by their keys.
final class FlatSource {
  @exclusivity(unchecked) private(set) var flat: FlatValue
  @exclusivity(unchecked) var types = CodableType.Catalog()
  let context: DecodingContext
  /// The containers that kept values were opened as.
  private var opened: [UInt32: UInt32] = [:]
  /// The entries of objects by their keys, where there are too many to look at all of them.
  private var tables: [UInt32: [String: UInt32]] = [:]
  /// The values that containers were made.
  private var values: [UInt32: ArchiveValue] = [:]

  init(_ flat: FlatValue, in context: DecodingContext) {
    self.flat = flat
    self.context = context
  }

  // MARK: Parts

  @inline(__always)
  func part(_ place: UInt32) -> FlatValue.Part { flat.parts[Int(place)] }

  @inline(__always)
  func text(_ part: FlatValue.Part) -> String { flat.texts[Int(part.content)] }

  @inline(__always)
  func isNull(_ place: UInt32) -> Bool { part(place).kind == .null }

  // MARK: Containers

  /// The part that has the entries of an object or a record; `nil` for anything else.
  func object(at place: UInt32) -> UInt32? {
    let part = flat.part(place)
    if part.kind == .object { return place }
    switch flat.kept(part) {
    case .object(let object)?: return open(place, object.entries.lazy.map { ($0.key, $0.value) })
    case .record(let record)?: return open(place, zip(record.keys, record.values))
    default: return nil
    }
  }

  /// The part that has the elements of an array or a set; `nil` for anything else.
  func array(at place: UInt32) -> UInt32? {
    let part = flat.part(place)
    if part.kind == .array { return place }
    guard let elements = flat.kept(part)?.arrayValue else { return nil }
    return open(place) { array in
      flat.begin(.array, at: array)
      for element in elements { flat.set(flat.addPart(to: array, .array), element) }
    }
  }

  private func open(_ place: UInt32, _ entries: some Sequence<(String, ArchiveValue)>) -> UInt32 {
    open(place) { object in
      flat.begin(.object, at: object)
      for (key, value) in entries { flat.set(flat.addPart(to: object, key: key), value) }
      flat.expectFirstKey(in: object)
    }
  }

  /// The container of a kept value, which stays what it is: the same value may be decoded in another way.
  private func open(_ place: UInt32, _ fill: (UInt32) -> Void) -> UInt32 {
    if let known = opened[place] { return known }
    let container = flat.addPart()
    fill(container)
    opened[place] = container
    return container
  }

  // MARK: Keys

  func keys(in object: UInt32) -> [String] { flat.places(in: object).map { flat.key($0) } }

  /// So many entries are looked at one by one.
  private static let mostEntries = 128

  /// The part under a key, or the first one where several keys are equal; `nil` where it is absent.
  @inline(never)
  func find(_ key: String, in object: UInt32) -> UInt32? {
    let part = flat.parts[Int(object)]
    if part.last != 0, !part.hasOtherKeys, flat.key(part.last) == key {
      flat.expectKey(after: part.last, in: object)
      return part.last
    }
    return search(key, in: object)
  }

  @inline(never)
  private func search(_ key: String, in object: UInt32) -> UInt32? {
    let part = flat.part(object)
    let (hash, isASCII) = FlatValue.hash(key)
    guard isASCII, !part.hasOtherKeys, part.count <= Self.mostEntries else { return table(of: object)[key] }
    var next = part.first
    for _ in 0..<part.count {
      let entry = flat.part(next)
      if entry.keyHash == hash, flat.key(next) == key {
        flat.expectKey(after: next, in: object)
        return next
      }
      next = entry.next
    }
    return nil
  }

  private func table(of object: UInt32) -> [String: UInt32] {
    if let known = tables[object] { return known }
    let places = flat.places(in: object)
    let table = Dictionary(places.map { (flat.key($0), $0) }, uniquingKeysWith: { first, _ in first })
    tables[object] = table
    return table
  }

  // MARK: Values

  /// A part as a value, which each container is made once: a type may try at each level whether all inside is something else.
  private func value(_ place: UInt32) -> ArchiveValue {
    let kind = flat.part(place).kind
    guard kind == .object || kind == .array else { return flat.value(place) }
    if let known = values[place] { return known }
    let places = flat.places(in: place)
    let value =
      kind == .array
      ? ArchiveValue.array(places.map { self.value($0) })
      : .object(ArchiveObject(uniqueEntries: places.map { .init(key: flat.key($0), value: self.value($0)) }))
    values[place] = value
    return value
  }

  /// A value of a type that archives know, made of the part's value.
  ///
  /// - Throws: as ``Archivable/make(from:in:)``, without the way to the part.
  @inline(never)
  func make<T: Archivable>(_ type: T.Type = T.self, at place: UInt32) throws -> T {
    try T.make(from: value(place), in: context)
  }

  /// A scalar of a part that does not hold it as its type does.
  ///
  /// A container is refused whatever is inside, so it does not become a value first.
  ///
  /// - Throws: as ``Archivable/make(from:in:)``.
  @inline(never)
  func makeScalar<T: Archivable>(_ type: T.Type = T.self, at place: UInt32) throws -> T {
    switch part(place).kind {
    case .array: try T.make(from: .array([]), in: context)
    case .object: try T.make(from: .object(ArchiveObject()), in: context)
    default: try T.make(from: flat.value(place), in: context)
    }
  }
}
