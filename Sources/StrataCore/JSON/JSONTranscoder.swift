import Foundation

/// Turns the bytes of an archive's body into JSON text, value by value, without making any of them.
///
/// The body was written a moment ago, shares no strings, and is nested no deeper than the writer's limit.
struct JSONTranscoder: ~Copyable, ~Escapable {
  var reader: ArchiveReader
  var output: ByteBuffer
  private let isPretty: Bool
  private let schemas: [RecordShape: ModelSchema]
  /// The layouts of the reader's record definitions.
  private var layouts: [JSONLayout] = []
  private var level = 0

  static func text(of writer: borrowing ArchiveWriter, isPretty: Bool) throws -> Data {
    let schemas = writer.schemasOfShapes ?? [:]
    return try writer.buffer.withBytes { body in
      var transcoder = JSONTranscoder(body, schemas, depth: writer.depthLimit, isPretty: isPretty)
      try transcoder.value()
      return transcoder.output.takeData()
    }
  }

  @_lifetime(copy body)
  private init(_ body: RawSpan, _ schemas: [RecordShape: ModelSchema], depth: Int, isPretty: Bool) {
    // What was just written is no claim of somebody else's.
    var limits = ArchiveLimits()
    limits.depth = depth
    limits.count = .max
    limits.stringLength = .max
    limits.values = .max
    limits.expandedBytes = .max
    limits.steps = .max
    reader = ArchiveReader(body, context: DecodingContext(limits: limits))
    output = ByteBuffer(minimumCapacity: body.byteCount * 2)
    self.schemas = schemas
    self.isPretty = isPretty
  }

  private mutating func value() throws {
    let initial = try reader.readByte()
    switch initial >> 5 {
    case CBOR.Major.unsigned:
      output.append(decimal: try reader.readArgument(initial))
    case CBOR.Major.negative:
      let argument = try reader.readArgument(initial)
      output.append(UInt8(ascii: "-"))
      if argument == .max {
        output.append("18446744073709551616" as StaticString)
      } else {
        output.append(decimal: argument + 1)
      }
    case CBOR.Major.text:
      let length = try reader.readLength(initial)
      output.append(jsonString: reader.bytes.extracting(reader.position..<reader.position + length))
      reader.position += length
    case CBOR.Major.array: try elements(try reader.readCount(initial))
    case CBOR.Major.map: try map(try reader.readCount(initial, bytesPerElement: 2))
    case CBOR.Major.tag: try tagged(initial)
    default:
      switch initial {
      case CBOR.falseByte: output.append("false" as StaticString)
      case CBOR.trueByte: output.append("true" as StaticString)
      case CBOR.nullByte: output.append("null" as StaticString)
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
    case CBOR.Tag.epochDate where try reader.peekByte() < 0x40:
      let (isNegative, argument) = try reader.readInteger64()
      let seconds = Int64(clamping: argument)
      output.append(UInt8(ascii: "\""))
      guard ISO8601.append(isNegative ? ~seconds : seconds, to: &output) else { throw Self.dateOutside() }
      output.append(UInt8(ascii: "\""))
    case CBOR.Tag.inlineRecord:
      try record(define(at: start))
    case CBOR.Tag.firstRecord...CBOR.Tag.lastRecord:
      let number = Int(tag - CBOR.Tag.firstRecord)
      guard let place = reader.definitions.firstIndex(where: { $0.number == number }),
        try reader.readArrayCount() == layouts[place].names.count
      else { throw ArchiveReader.wrongCount(start) }
      try record(layouts[place])
    default:
      reader.position = start
      try other()
    }
  }

  /// Everything that is rare: it is made and then written.
  private mutating func other() throws {
    let value = try reader.readValue()
    switch value {
    case .double(let number):
      guard number.isFinite else { throw JSONPrinter.notFinite }
      output.append(number.description)
    case .float(let number):
      guard number.isFinite else { throw JSONPrinter.notFinite }
      output.append(number.description)
    default:
      var printer = JSONPrinter(isPretty: isPretty, sortsKeys: false, limits: reader.context.limits)
      let text = try printer.document(value)
      output.append(text.span.bytes)
    }
  }

  static func dateOutside() -> ArchiveError {
    ArchiveError(.notEncodable, "a date is outside the years 0 to 9999; only these can be written")
  }

  // MARK: Containers

  private mutating func elements(_ count: Int) throws {
    try open(UInt8(ascii: "["))
    for index in 0..<count {
      separate(index)
      do { try value() } catch { throw ArchiveError.at(.index(index), error) }
    }
    close(UInt8(ascii: "]"), isEmpty: count == 0)
  }

  private mutating func record(_ layout: JSONLayout) throws {
    if let problem = layout.problem { throw problem }
    if layout.isFlat {
      try open(UInt8(ascii: "{"))
      for place in layout.members.indices {
        separate(place)
        key(layout.members[place].key)
        do { try value() } catch { throw layout.located(error, place) }
      }
      return close(UInt8(ascii: "}"), isEmpty: layout.members.isEmpty)
    }
    // The fields of one object need not follow each other, so it must be known where each of them stands.
    var places: [Int] = []
    for _ in layout.names {
      places.append(reader.position)
      try skip()
    }
    let end = reader.position
    try members(layout.members, places, layout)
    reader.position = end
  }

  private mutating func members(_ members: [JSONLayout.Member], _ places: [Int], _ layout: JSONLayout) throws {
    try open(UInt8(ascii: "{"))
    for (index, member) in members.enumerated() {
      separate(index)
      key(member.key)
      switch member.content {
      case .object(let members): try self.members(members, places, layout)
      case .field(let field):
        reader.position = places[field]
        do { try value() } catch { throw layout.located(error, field) }
      }
    }
    close(UInt8(ascii: "}"), isEmpty: members.isEmpty)
  }

  /// Passes a value; the definitions of records in it are kept.
  private mutating func skip() throws {
    var pending = 1
    while pending > 0 {
      pending -= 1
      let start = reader.position
      let initial = try reader.readByte()
      switch initial >> 5 {
      case CBOR.Major.unsigned, CBOR.Major.negative: _ = try reader.readArgument(initial)
      case CBOR.Major.bytes, CBOR.Major.text: reader.position += try reader.readLength(initial)
      case CBOR.Major.array: pending += try reader.readCount(initial)
      case CBOR.Major.map: pending += 2 * (try reader.readCount(initial, bytesPerElement: 2))
      case CBOR.Major.tag:
        if try reader.readArgument(initial) == CBOR.Tag.inlineRecord {
          pending += try define(at: start).names.count
        } else {
          pending += 1
        }
      default:
        reader.position = start
        _ = try reader.readValue()
      }
    }
  }

  /// Reads the definition of a record, whose tag was passed. The values follow.
  private mutating func define(at start: Int) throws -> JSONLayout {
    let place = try reader.readDefinition(at: start)
    let shape = reader.definitions[place].shape
    let layout: JSONLayout
    if let schema = schemas[shape], schema.fullShape == shape {
      layout = schema.jsonLayout
    } else {
      layout = JSONLayout(shape, schemas[shape])
    }
    if place < layouts.count { layouts[place] = layout } else { layouts.append(layout) }
    return layout
  }

  /// An object where all keys have a text, and else an array of pairs.
  private mutating func map(_ count: Int) throws {
    let start = (position: reader.position, output: output.count, level: level)
    var majors: (first: UInt8, areSame: Bool) = (try count == 0 ? 0 : reader.peekByte() >> 5, true)
    try open(UInt8(ascii: "{"))
    for index in 0..<count {
      separate(index)
      let keyStart = reader.position
      if try reader.peekByte() >> 5 != majors.first { majors.areSame = false }
      guard try keyText() else {
        reader.position = start.position
        output.removeLast(from: start.output)
        level = start.level
        reader.leave()
        return try pairs(count)
      }
      output.append(UInt8(ascii: ":"))
      if isPretty { output.append(UInt8(ascii: " ")) }
      do { try value() } catch {
        reader.position = keyStart
        let key = try reader.readValue().stringValue
        throw ArchiveError.at(.key(key ?? "(key)"), error)
      }
    }
    close(UInt8(ascii: "}"), isEmpty: count == 0)
    // Keys of one plain kind have a text each: they were told apart when they were put into the dictionary.
    if count > 1, !majors.areSame || majors.first == CBOR.Major.tag { try checkKeys(count, from: start.position) }
  }

  /// Makes sure that no two keys have the same text: a date and another in the same billionth of a second, 1 and "1".
  private mutating func checkKeys(_ count: Int, from start: Int) throws {
    let end = (reader.position, output.count)
    reader.position = start
    var texts = Set<[UInt8]>(minimumCapacity: count)
    for _ in 0..<count {
      let (position, length) = (reader.position, output.count)
      _ = try keyText()
      let text = output.array(from: length)
      output.removeLast(from: length)
      guard texts.insert(text).inserted else {
        reader.position = position
        throw ArchiveError.at(.key(try reader.readValue().stringValue ?? "(key)"), Self.sameText())
      }
      try skip()
    }
    reader.position = end.0
  }

  static func sameText() -> ArchiveError {
    ArchiveError(.notEncodable, "two keys of a dictionary have the same text in JSON, which has each key once")
  }

  /// Writes a key in quotes; answers `false` for one that has no text.
  private mutating func keyText() throws -> Bool {
    let initial = try reader.peekByte()
    switch initial >> 5 {
    case CBOR.Major.text: try value()
    case CBOR.Major.unsigned, CBOR.Major.negative:
      output.append(UInt8(ascii: "\""))
      try value()
      output.append(UInt8(ascii: "\""))
    case CBOR.Major.bytes: try other()
    case CBOR.Major.tag:
      let start = reader.position
      let tag = try reader.readArgument(try reader.readByte())
      reader.position = start
      switch tag {
      case CBOR.Tag.url, CBOR.Tag.epochDate, CBOR.Tag.uuid: try value()
      case CBOR.Tag.positiveInteger, CBOR.Tag.negativeInteger:
        output.append(UInt8(ascii: "\""))
        try value()
        output.append(UInt8(ascii: "\""))
      default: return false
      }
    default: return false
    }
    return true
  }

  private mutating func pairs(_ count: Int) throws {
    try open(UInt8(ascii: "["))
    var texts = Set<[UInt8]>(minimumCapacity: count)
    for index in 0..<count {
      separate(index)
      do {
        try open(UInt8(ascii: "["))
        separate(0)
        let start = output.count
        try value()
        let text = output.array(from: start)
        // Objects are identified by what they are, whatever they hold.
        if text.first != UInt8(ascii: "{"), !texts.insert(text).inserted { throw Self.sameText() }
        separate(1)
        try value()
        close(UInt8(ascii: "]"), isEmpty: false)
      } catch { throw ArchiveError.at(.index(index), error) }
    }
    close(UInt8(ascii: "]"), isEmpty: count == 0)
  }

  // MARK: Punctuation

  private mutating func open(_ byte: UInt8) throws {
    try reader.enter()
    level += 1
    output.append(byte)
  }

  @inline(__always)
  private mutating func separate(_ index: Int) {
    if index > 0 { output.append(UInt8(ascii: ",")) }
    if isPretty { breakLine() }
  }

  private mutating func close(_ byte: UInt8, isEmpty: Bool) {
    reader.leave()
    level -= 1
    if isPretty, !isEmpty { breakLine() }
    output.append(byte)
  }

  private mutating func breakLine() {
    output.append(UInt8(ascii: "\n"))
    for _ in 0..<level { output.append("  " as StaticString) }
  }

  private mutating func key(_ text: [UInt8]) {
    output.append(text.span.bytes)
    output.append(UInt8(ascii: ":"))
    if isPretty { output.append(UInt8(ascii: " ")) }
  }
}
