extension ArchiveValue {
  /// One step into a value: a key of a record or an object, or an index of an array.
  package typealias Step = ArchiveError.PathComponent

  /// The value at a path through nested records and objects; `nil` where a key is absent, or something on the way has no
  /// keys.
  public subscript(path: ValuePath) -> ArchiveValue? {
    get {
      var value = self
      for step in path.steps {
        guard let next = value[step] else { return nil }
        value = next
      }
      return value
    }
    set {
      do { try set(newValue, at: path) } catch { preconditionFailure("\(error)") }
    }
  }

  /// Puts a value at a path, or with `nil` takes away what is there.
  ///
  /// Where null or nothing is on the way, objects are made of it. To take away what is not there changes nothing.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` where something on the way is neither an object, a record nor
  ///   null; the value is then as it was. The setter of `value[path]` ends the program there: use it where the shape is known.
  /// - Complexity: linear in the entries of the objects on the way.
  public mutating func set(_ newValue: ArchiveValue?, at path: ValuePath) throws {
    try set(newValue, at: path.steps[...])
  }

  // MARK: Steps

  /// Whether a step may lead into this value.
  package func takes(_ step: Step) -> Bool {
    switch (step, self) {
    case (.key, .object), (.key, .record), (.index, .array): true
    default: false
    }
  }

  /// What one step leads to; `nil` where nothing is there.
  package subscript(step: Step) -> ArchiveValue? {
    switch (step, self) {
    case (.key(let key), .object(let object)): object[key]
    case (.key(let key), .record(let record)): record[key]
    case (.index(let index), .array(let elements)): elements.indices.contains(index) ? elements[index] : nil
    default: nil
    }
  }

  /// What the steps lead to; `nil` where something on the way is absent or null.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` and the path to it where something on the way has no such step.
  package func value(at steps: some Collection<Step>) throws -> ArchiveValue? {
    var value = self
    for (place, step) in steps.enumerated() {
      guard !value.isNull else { return nil }
      guard value.takes(step) else { throw value.mismatch(step).prefixed(by: Array(steps.prefix(place))) }
      guard let next = value[step] else { return nil }
      value = next
    }
    return value
  }

  /// Puts a value where the steps lead, or with `nil` takes away what is there. An array grows by nulls up to an index.
  ///
  /// - Parameter make: gives what is to be in the place of something that has no such step, which is null where nothing is
  ///   there. It makes objects and arrays of null unless given, and refuses anything else.
  package mutating func set(
    _ newValue: ArchiveValue?, at steps: ArraySlice<Step>,
    making make: (ArchiveValue, Step) throws -> ArchiveValue = ArchiveValue.container
  ) throws {
    guard let step = steps.first else { return }
    let before = takes(step) ? nil : self
    if before != nil {
      guard newValue != nil || !isNull else { return }
      let made = try make(self, step)
      guard made.takes(step) else { throw made.mismatch(step) }
      self = made
    }
    let rest = steps.dropFirst()
    guard !rest.isEmpty else { return self[existing: step] = newValue }
    let found = self[step]
    guard var inner = found ?? (newValue == nil ? nil : .null) else { return }
    // It is taken out while it is changed: what two hold would be copied.
    if found?.holdsValues == true { self[existing: step] = .null }
    do { try inner.set(newValue, at: rest, making: make) } catch {
      if let before { self = before } else if found != nil { self[existing: step] = inner }
      throw ArchiveError.at(step, error)
    }
    self[existing: step] = inner
  }

  /// What is made of null for a step; anything else is refused.
  package static func container(_ found: ArchiveValue, for step: Step) throws -> ArchiveValue {
    guard found.isNull else { throw found.mismatch(step) }
    return if case .key = step { .object(ArchiveObject()) } else { .array([]) }
  }

  package func mismatch(_ step: Step) -> ArchiveError {
    let expected = if case .key = step { "an object or a record" } else { "an array" }
    return ArchiveError.mismatch(expected: expected, found: kind)
  }

  /// What one step leads to, for setting it.
  ///
  /// - Precondition: the value takes the step.
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
      default: preconditionFailure("only called for what takes the step, and this is a \(kind)")
      }
    }
  }
}

extension ArchiveError {
  /// The same error with several steps before its path.
  package func prefixed(by components: [PathComponent]) -> ArchiveError {
    components.reversed().reduce(self) { $0.prefixed(by: $1) }
  }
}

extension ModelRecord {
  /// The value at a path through nested records and objects, as that of ``ArchiveValue``.
  public subscript(path: ValuePath) -> ArchiveValue? {
    get { ArchiveValue.record(self)[path] }
    set { do { try set(newValue, at: path) } catch { preconditionFailure("\(error)") } }
  }

  /// Puts a value at a path, or takes away what is there, as ``ArchiveValue/set(_:at:)``.
  ///
  /// - Throws: as that.
  public mutating func set(_ newValue: ArchiveValue?, at path: ValuePath) throws {
    try set(newValue, at: path.steps[...], making: ArchiveValue.container)
  }

  package mutating func set(
    _ newValue: ArchiveValue?, at steps: ArraySlice<ArchiveValue.Step>,
    making make: (ArchiveValue, ArchiveValue.Step) throws -> ArchiveValue
  ) throws {
    var value = ArchiveValue.record(self)
    // Values that two hold would be copied.
    values = []
    defer { if case .record(let record) = value { self = record } }
    try value.set(newValue, at: steps, making: make)
  }
}
