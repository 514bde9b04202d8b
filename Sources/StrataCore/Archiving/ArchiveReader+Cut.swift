/// The readable part of a truncated value.
struct CutValue {
  /// The value without its incomplete parts; `nil` if no part is complete.
  var value: ArchiveValue?
  /// The path at which the value is truncated.
  var path: [ArchiveError.PathComponent] = []
}

extension ArchiveReader {
  /// Reads a value that may be truncated. If an array or a set is truncated, the result contains only its complete elements, because a
  /// reader could not tell a part of an element from a complete model. If a map, a record or an object is truncated inside a value, the
  /// result also contains the complete parts of that value.
  ///
  /// - Returns: the value, and whether it is complete.
  /// - Throws: ``ArchiveError`` for every failure except truncation.
  mutating func readCutValue() throws -> (found: CutValue, isWhole: Bool) {
    if let value = try readWhole() { return (CutValue(value: value), true) }
    return (try readCut(), false)
  }

  /// Returns the next value. If the bytes end inside the value, returns `nil` and resets the position to the start of the
  /// value.
  private mutating func readWhole() throws -> ArchiveValue? {
    let (start, definitionCount, graph) = (here, definitions.count, context.graph)
    do { return try readValue() } catch let error as ArchiveError where error.code == .truncated {
      goBack(to: start)
      definitions.removeLast(definitions.count - definitionCount)
      context.graph = graph
      return nil
    }
  }

  private mutating func readCut() throws -> CutValue {
    do {
      try enter()
      defer { leave() }
      let initial = try peekByte()
      switch initial >> 5 {
      case CBOR.Major.array:
        position += 1
        return try readCutElements(try readArgument(initial)) { .array($0) }
      case CBOR.Major.map:
        position += 1
        return try readCutMap(try readArgument(initial))
      case CBOR.Major.tag:
        if initial == 0xD9, try peekTag() == CBOR.Tag.set {
          position += 3
          let head = try readByte()
          return try readCutElements(try readArgument(head)) { .set($0) }
        }
        guard let place = try beginAnyRecord() else { return CutValue() }
        return try readCutFields(definitions[place].shape)
      default: return CutValue()
      }
    } catch let error as ArchiveError where error.code == .truncated { return CutValue() }
  }

  private func peekTag() throws -> UInt64 {
    guard bytes.byteCount - position >= 3 else { return 0 }
    return UInt64(bytes.unsafeLoad(fromByteOffset: position + 1, as: UInt8.self)) << 8
      | UInt64(bytes.unsafeLoad(fromByteOffset: position + 2, as: UInt8.self))
  }

  private mutating func readCutElements(_ count: UInt64, _ make: ([ArchiveValue]) -> ArchiveValue) throws -> CutValue {
    var elements: [ArchiveValue] = []
    while UInt64(elements.count) < count, let element = try readWhole() { elements.append(element) }
    return CutValue(value: make(elements), path: [.index(elements.count)])
  }

  private mutating func readCutMap(_ count: UInt64) throws -> CutValue {
    var entries: [ArchiveValue.MapEntry] = []
    var path: [ArchiveError.PathComponent] = []
    while UInt64(entries.count) < count, let key = try readWhole() {
      let name = key.stringValue ?? "(key)"
      if let value = try readWhole() {
        entries.append(.init(key: key, value: value))
        continue
      }
      let inner = try readCut()
      if let value = inner.value { entries.append(.init(key: key, value: value)) }
      path = [.key(name)] + inner.path
      break
    }
    let isObject = entries.allSatisfy { $0.key.stringValue != nil }
    let value: ArchiveValue =
      isObject
      ? .object(ArchiveObject(entries.map { .init(key: $0.key.stringValue ?? "", value: $0.value) })) : .map(entries)
    return CutValue(value: value, path: path)
  }

  private mutating func readCutFields(_ shape: RecordShape) throws -> CutValue {
    var keys: [String] = []
    var values: [ArchiveValue] = []
    var path: [ArchiveError.PathComponent] = []
    for key in shape.keys {
      let whole = try readWhole()
      let cut = try whole == nil ? readCut() : nil
      if let value = whole ?? cut?.value {
        keys.append(key)
        values.append(value)
      }
      guard let cut else { continue }
      path = [.key(key)] + cut.path
      break
    }
    let known = RecordShape(
      typeName: shape.typeName, modelVersion: shape.modelVersion, keys: keys, levels: shape.levels)
    return CutValue(value: .record(ModelRecord(shape: known, values: values)), path: path)
  }
}
