import Foundation

/// Converts the encoded body of an archive directly to JSON text. Most values are not decoded into an ``ArchiveValue``.
///
/// The body must have just been written by this process, must not contain shared strings, and must not be nested more deeply than the
/// writer's limit. Rare values, such as models with transformers, uncommon kinds of numbers, and maps whose keys are neither all strings
/// nor all integers, are decoded and then written by ``JSONValueWriter``.
struct JSONBodyWriter: ~Copyable, ~Escapable {
  private var reader: ArchiveReader
  private var output: JSONOutput
  private let writing: JSONWriting
  private let limits: ArchiveLimits
  private let writesNulls: Bool
  /// Cached JSON layouts, by the index of the record definition in `reader.definitions`.
  private var layouts: [(shape: RecordShape, layout: JSONLayout)?] = []

  static func text(
    of writer: borrowing ArchiveWriter, _ writing: JSONWriting, isPretty: Bool, sortsKeys: Bool
  ) throws -> Data {
    writing.schemas = writer.schemasOfShapes ?? [:]
    let limits = writer.limits
    return try writer.buffer.withBytes { body in
      let output = JSONOutput(
        isPretty: isPretty, sortsKeys: sortsKeys, limits: limits, minimumCapacity: body.byteCount * 2)
      var text = JSONBodyWriter(body, writing, output, limits)
      try text.value()
      return text.output.takeData()
    }
  }

  @_lifetime(copy body)
  private init(_ body: RawSpan, _ writing: JSONWriting, _ output: consuming JSONOutput, _ limits: ArchiveLimits) {
    // Only the depth is limited. The sizes in the body can be trusted, because this process has just written the body.
    var own = ArchiveLimits()
    own.depth = limits.depth
    own.count = .max
    own.stringLength = .max
    own.values = .max
    own.expandedBytes = .max
    own.steps = .max
    reader = ArchiveReader(body, context: DecodingContext(limits: own))
    self.output = output
    self.writing = writing
    self.limits = limits
    writesNulls = writing.nulls == .null
  }

  private mutating func value() throws {
    let initial = try reader.readByte()
    switch initial >> 5 {
    case CBOR.Major.unsigned:
      output.write(isNegative: false, magnitude: try reader.readArgument(initial))
    case CBOR.Major.negative:
      let argument = try reader.readArgument(initial)
      guard argument < .max else {
        reader.position -= 9
        return try other()
      }
      output.write(isNegative: true, magnitude: argument + 1)
    case CBOR.Major.text:
      let length = try reader.readLength(initial)
      output.write(string: reader.bytes.extracting(reader.position..<reader.position + length))
      reader.position += length
    case CBOR.Major.array: try elements(try reader.readCount(initial))
    case CBOR.Major.map: try map(initial)
    case CBOR.Major.tag: try tagged(initial)
    default:
      switch initial {
      case CBOR.falseByte: output.write(false)
      case CBOR.trueByte: output.write(true)
      case CBOR.nullByte: output.writeNull()
      case CBOR.doubleByte:
        reader.position -= 1
        try output.write(reader.readDouble())
      default:
        reader.position -= 1
        try other()
      }
    }
  }

  private mutating func tagged(_ initial: UInt8) throws {
    let start = reader.position - 1
    let tag = try reader.readArgument(initial)
    switch tag {
    case CBOR.Tag.url: try value()
    case CBOR.Tag.set: try elements(try reader.readArrayCount())
    case CBOR.Tag.decimal:
      try output.write(reader.readDecimalContent(at: start))
    case CBOR.Tag.epochDate:
      reader.position = start
      try output.write(reader.readDate())
    case CBOR.Tag.inlineRecord:
      let layout = try layout(ofDefinition: reader.readDefinition(at: start))
      try record(layout, at: start)
    case CBOR.Tag.firstRecord...CBOR.Tag.lastRecord:
      let number = Int(tag - CBOR.Tag.firstRecord)
      guard let place = reader.definitions.firstIndex(where: { $0.number == number }),
        try reader.readArrayCount() == reader.definitions[place].shape.keys.count
      else { throw ArchiveReader.wrongCount(start) }
      try record(layout(ofDefinition: place), at: start)
    default:
      reader.position = start
      try other()
    }
  }

  /// Decodes the next value and writes it with ``JSONValueWriter``. Used for rare kinds of values.
  private mutating func other() throws {
    var writer = JSONValueWriter(writing, limits: limits)
    try writer.write(reader.readValue(), to: &output)
  }

  // MARK: Containers

  private mutating func elements(_ count: Int) throws {
    try output.open(isObject: false)
    for index in 0..<count {
      output.separate(isFirst: index == 0, inObject: false)
      do { try value() } catch { throw ArchiveError.at(.index(index), error) }
    }
    output.close(isObject: false, isEmpty: count == 0)
  }

  /// Writes a record as a JSON object. The head of the record has already been read.
  ///
  /// - Parameter start: the offset of the record in the body.
  private mutating func record(_ layout: JSONLayout, at start: Int) throws {
    if let problem = layout.problem { throw problem }
    guard layout.isPlain, writesNulls else {
      reader.position = start
      return try other()
    }
    if layout.isFlat {
      try output.open(isObject: true)
      for index in layout.flatKeys.indices {
        output.separate(isFirst: index == 0, inObject: true)
        output.write(quotedKey: layout.flatKeys[index])
        do { try value() } catch { throw layout.located(error, layout.leaves[index]) }
      }
      return output.close(isObject: true, isEmpty: layout.flatKeys.isEmpty)
    }
    // The fields that share a JSON object need not be adjacent in the record, so the positions of all fields are found first.
    var positions: [Int] = []
    for _ in 0..<layout.fieldCount {
      positions.append(reader.position)
      try reader.skipValue(definesRecords: true)
    }
    let end = reader.position
    try members(layout.nodes, positions, layout)
    reader.position = end
  }

  private mutating func members(_ nodes: [JSONPathTree], _ positions: [Int], _ layout: JSONLayout) throws {
    try output.open(isObject: true)
    for (index, node) in nodes.enumerated() {
      output.separate(isFirst: index == 0, inObject: true)
      output.write(quotedKey: node.quotedKey)
      guard let leaf = node.leaves.first.map({ layout.leaves[$0] }) else {
        try members(node.children, positions, layout)
        continue
      }
      reader.position = positions[leaf.index]
      do { try value() } catch { throw layout.located(error, leaf) }
    }
    output.close(isObject: true, isEmpty: nodes.isEmpty)
  }

  private mutating func layout(ofDefinition place: Int) throws -> JSONLayout {
    let shape = reader.definitions[place].shape
    if place < layouts.count, let known = layouts[place], known.shape === shape { return known.layout }
    let layout = try writing.layout(of: shape) ?? JSONLayout(shape, nil)
    while layouts.count <= place { layouts.append(nil) }
    layouts[place] = (shape, layout)
    return layout
  }

  /// Writes a map as a JSON object if its keys are all strings or all integers. Any other map is decoded and then written by
  /// ``JSONValueWriter``.
  private mutating func map(_ initial: UInt8) throws {
    let start = reader.position - 1
    let count = try reader.readCount(initial, bytesPerElement: 2)
    let mark = output.mark
    let isText = try count > 0 && reader.peekByte() >> 5 == CBOR.Major.text
    try output.open(isObject: true)
    for index in 0..<count {
      let keyStart = reader.position
      let major = try reader.peekByte() >> 5
      guard isText ? major == CBOR.Major.text : major <= CBOR.Major.negative else {
        output.goBack(to: mark)
        reader.position = start
        return try other()
      }
      output.separate(isFirst: index == 0, inObject: true)
      if isText {
        try value()
      } else {
        output.writeQuote()
        try value()
        output.writeQuote()
      }
      output.endKey()
      do { try value() } catch {
        reader.position = keyStart
        throw ArchiveError.at(.key(try reader.readValue().scalarText ?? ""), error)
      }
    }
    output.close(isObject: true, isEmpty: count == 0)
  }
}
