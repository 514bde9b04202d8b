extension ArchiveValue {
  /// One step into a value: a key of a record or an object, or an index of an array.
  package typealias Step = ArchiveError.PathComponent

  /// The value at a path of keys and indices. `nil` if a key or an index is absent, if a value along the path is not a record,
  /// an object or an array, or if the path contains any other kind of component.
  public subscript(path: ValuePath) -> ArchiveValue? {
    get { (try? path.steps())?.reduce(self as ArchiveValue?) { $0?[$1] } ?? nil }
    set {
      do { try set(newValue, at: path) } catch { preconditionFailure("\(error)") }
    }
  }

  /// Sets the value at a path, or removes it if `newValue` is `nil`.
  ///
  /// Null or absent values along the path become objects, or arrays if the next component is an index. If an index is beyond the
  /// end of an array, up to 65,535 nulls are added to reach it. Removing an absent value changes nothing.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` if a value along the path is not null and does not support the next
  ///   key or index, if an index is negative or too far beyond the end of its array, or if the path is the root or contains any
  ///   other kind of component. The value is unchanged in these cases. The setter of `value[path]` stops the program instead of
  ///   throwing an error. Use the setter only if the structure of the value is known.
  /// - Complexity: linear in the number of entries of the objects along the path.
  public mutating func set(_ newValue: ArchiveValue?, at path: ValuePath) throws {
    try set(newValue, at: path.steps()[...])
  }

  /// The maximum number of nulls that are added to an array before a new element.
  private static let mostNulls = 65_535

  // MARK: Steps

  /// Whether a path can take this step in a value of this kind: a key in an object or a record, or an index in an array.
  package func accepts(_ step: Step) -> Bool {
    switch (step, self) {
    case (.key, .object), (.key, .record), (.index, .array): true
    default: false
    }
  }

  /// The value under a key of an object or a record, or at an index of an array; `nil` if it is absent, or if this value is of any other
  /// kind.
  package subscript(step: Step) -> ArchiveValue? {
    switch (step, self) {
    case (.key(let key), .object(let object)): object[key]
    case (.key(let key), .record(let record)): record[key]
    case (.index(let index), .array(let elements)): elements.indices.contains(index) ? elements[index] : nil
    default: nil
    }
  }

  /// Returns the value at the end of a list of keys and indices. Returns `nil` if a key or an index is absent, or if a value along the way
  /// is null.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` if a value does not support the next key or index. The path of the error is
  ///   the path to that value.
  package func value(at steps: some Collection<Step>) throws -> ArchiveValue? {
    var value = self
    for (place, step) in steps.enumerated() {
      guard !value.isNull else { return nil }
      guard value.accepts(step) else { throw value.mismatch(step).prefixed(by: Array(steps.prefix(place))) }
      guard let next = value[step] else { return nil }
      value = next
    }
    return value
  }

  /// Sets the value at the end of a list of keys and indices, or removes the value if `newValue` is `nil`. If an index is beyond the end of
  /// an array, nulls are added up to the index.
  ///
  /// - Parameter make: returns the replacement for a value along the way that does not support the next key or index. An absent value is
  ///   passed as null. By default, null becomes an object or an array, and any other value throws `typeMismatch`.
  package mutating func set(
    _ newValue: ArchiveValue?, at steps: ArraySlice<Step>,
    making make: (ArchiveValue, Step) throws -> ArchiveValue = ArchiveValue.container
  ) throws {
    guard let step = steps.first else {
      throw ArchiveError(
        .typeMismatch,
        "the path refers to the root, which cannot be set or removed; use the path of a value inside the root")
    }
    let before = accepts(step) ? nil : self
    if before != nil {
      guard newValue != nil || !isNull else { return }
      let made = try make(self, step)
      guard made.accepts(step) else { throw made.mismatch(step) }
      self = made
    }
    if newValue != nil, case .index(let index) = step, case .array(let elements) = self,
      !(0...elements.count + Self.mostNulls).contains(index)
    {
      if let before { self = before }
      throw ArchiveError(
        .typeMismatch,
        "the index \(index) is negative or more than \(Self.mostNulls) elements past the end of the array")
    }
    let rest = steps.dropFirst()
    guard !rest.isEmpty else { return self[existing: step] = newValue }
    let found = self[step]
    guard var inner = found ?? (newValue == nil ? nil : .null) else { return }
    // The inner value is removed from its container while it is changed. Its storage is then referenced only once, so the change does not
    // copy it.
    if found?.holdsValues == true { self[existing: step] = .null }
    do { try inner.set(newValue, at: rest, making: make) } catch {
      if let before { self = before } else if found != nil { self[existing: step] = inner }
      throw ArchiveError.at(step, error)
    }
    self[existing: step] = inner
  }

  /// Returns the container that replaces a null along the way: an empty object if the next step is a key, or an empty array if it is an
  /// index. Throws `typeMismatch` if `found` is not null.
  package static func container(_ found: ArchiveValue, for step: Step) throws -> ArchiveValue {
    guard found.isNull else { throw found.mismatch(step) }
    return if case .key = step { .object(ArchiveObject()) } else { .array([]) }
  }

  package func mismatch(_ step: Step) -> ArchiveError {
    let expected = if case .key = step { "an object or a record" } else { "an array" }
    return ArchiveError.mismatch(expected: expected, found: kind)
  }

  /// The value under a key or at an index of this value. Setting `nil` removes it.
  ///
  /// - Precondition: the value supports the step.
  private subscript(existing step: Step) -> ArchiveValue? {
    get { self[step] }
    set {
      switch (step, self) {
      case (.key(let key), .object(var object)):
        self = .null
        object[key] = newValue
        self = .object(object)
      case (.key(let key), .record(var record)):
        self = .null
        record[key] = newValue
        self = .record(record)
      case (.index(let index), .array(var elements)):
        self = .null
        if let newValue {
          while elements.count <= index { elements.append(.null) }
          elements[index] = newValue
        } else if elements.indices.contains(index) {
          elements.remove(at: index)
        }
        self = .array(elements)
      default: preconditionFailure("a value of the kind \(kind) does not contain the key or index")
      }
    }
  }
}

extension ArchiveError {
  /// Returns the error with the components prepended to its path.
  package func prefixed(by components: [PathComponent]) -> ArchiveError {
    components.reversed().reduce(self) { $0.prefixed(by: $1) }
  }
}

extension ModelRecord {
  /// The value at a path of keys and indices, with the same rules as the subscript of ``ArchiveValue``.
  public subscript(path: ValuePath) -> ArchiveValue? {
    get { ArchiveValue.record(self)[path] }
    set { do { try set(newValue, at: path) } catch { preconditionFailure("\(error)") } }
  }

  /// Sets or removes the value at a path, with the same rules as ``ArchiveValue/set(_:at:)``.
  ///
  /// - Throws: the same errors as ``ArchiveValue/set(_:at:)``.
  public mutating func set(_ newValue: ArchiveValue?, at path: ValuePath) throws {
    // A path that is a single key is handled separately, because creating an array of steps would be slower.
    if let key = path.onlyKey { return self[key] = newValue }
    try set(newValue, at: path.steps()[...], making: ArchiveValue.container)
  }

  package mutating func set(
    _ newValue: ArchiveValue?, at steps: ArraySlice<ArchiveValue.Step>,
    making make: (ArchiveValue, ArchiveValue.Step) throws -> ArchiveValue
  ) throws {
    var value = ArchiveValue.record(self)
    // Releases the record's reference to its values. Only `value` then refers to their storage, so changing it does not copy the storage.
    values = []
    defer { if case .record(let record) = value { self = record } }
    try value.set(newValue, at: steps, making: make)
  }
}
