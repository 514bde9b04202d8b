/// Writes values as JSON.
///
/// Open containers are kept in an array of frames instead of on the call stack, so deeply nested values cannot exhaust the stack.
struct JSONValueWriter {
  let writing: JSONWriting
  private let limits: ArchiveLimits
  private var output: OutputLimit
  private var root = ArchiveValue.null
  private(set) var frames: [JSONFrame] = []
  private var graph: ObjectGraph?
  /// The graph indices of the objects that are being written, outermost first. A reference to one of these objects forms a cycle.
  private var openReferences: [Int] = []
  private var expansions = 0
  /// The keys of the fields to write in the outermost model; `nil` to write all fields.
  private(set) var fields: Set<String>?

  init(_ writing: JSONWriting, limits: ArchiveLimits, fields: Set<String>? = nil) {
    self.writing = writing
    self.limits = limits
    self.fields = fields
    output = OutputLimit(limits)
  }

  /// Writes a value to `sink`.
  ///
  /// - Throws: ``ArchiveError``. The path of the error is the path in `value` to the part that cannot be written.
  mutating func write<Sink: JSONSink & ~Copyable>(_ value: ArchiveValue, to sink: inout Sink) throws {
    root = value
    do {
      try append(value, &sink)
      while let last = frames.indices.last {
        let place = frames[last].next
        guard place < frames[last].count else {
          let frame = frames.removeLast()
          sink.close(isObject: frame.isObject, isEmpty: place == 0)
          if frame.reference != nil { openReferences.removeLast() }
          continue
        }
        try output.check(sink.count, of: root)
        frames[last].next = place + 1
        try appendElement(place, of: frames[last].contents, &sink)
      }
    } catch { throw frames.reversed().reduce(ArchiveError.wrap(error)) { $1.located($0) } }
  }

  /// Returns the value that reading the JSON text of `value` would return.
  func json(_ value: ArchiveValue) throws -> ArchiveValue {
    var writer = JSONValueWriter(writing, limits: limits)
    writer.graph = graph
    writer.openReferences = openReferences
    return try writer.value(of: value)
  }

  mutating func value(of value: ArchiveValue) throws -> ArchiveValue {
    var sink = JSONValueSink()
    try write(value, to: &sink)
    return sink.result
  }

  // MARK: Elements

  private mutating func appendElement<Sink: JSONSink & ~Copyable>(
    _ place: Int, of contents: JSONFrame.Contents, _ sink: inout Sink
  ) throws {
    switch contents {
    case .elements(let elements):
      sink.separate(isFirst: place == 0, inObject: false)
      try append(elements[place], &sink)
    case .entries(let entries, _), .tagged(let entries, _):
      beginMember(place, entries[place].key, &sink)
      try append(entries[place].value, &sink)
    case .members(let members, let layout):
      if case .key(let key) = members[place].step {
        beginMember(place, key, &sink)
      } else {
        sink.separate(isFirst: place == 0, inObject: false)
      }
      switch members[place].content {
      case .value(let value, _): try append(value, &sink)
      case .group(let group): try open(.members(group, layout), &sink)
      case .constant(let value): try sink.write(scalar: value)
      }
    }
  }

  private func beginMember<Sink: JSONSink & ~Copyable>(_ place: Int, _ key: String, _ sink: inout Sink) {
    sink.separate(isFirst: place == 0, inObject: true)
    sink.write(key: key)
  }

  private mutating func append<Sink: JSONSink & ~Copyable>(_ value: ArchiveValue, _ sink: inout Sink) throws {
    switch value {
    case .null, .bool, .int, .uint, .wideInteger, .float, .double, .decimal, .number, .string, .data, .date, .url,
      .uuid:
      try sink.write(scalar: value)
    case .reference(let number): try append(reference: number, &sink)
    case .graph(let graph):
      self.graph = graph
      try append(graph.root, &sink)
    default:
      let reference = openReferences.count
      let (contents, caseName) = try contents(of: value)
      try open(contents, &sink, caseName: caseName)
      if openReferences.count > reference { frames[frames.count - 1].reference = openReferences.last }
    }
  }

  /// Writes the referenced object in place of a reference.
  private mutating func append<Sink: JSONSink & ~Copyable>(reference number: Int, _ sink: inout Sink) throws {
    if writing.nullsCycles, openReferences.contains(number) {
      writing.cycleCount += 1
      return try sink.write(scalar: .null)
    }
    let depth = frames.count
    try append(object(number), &sink)
    guard frames.count > depth else { return }
    openReferences.append(number)
    frames[depth].reference = number
  }

  /// Returns the object with the given index in the graph. Throws an error if the object refers to itself through a cycle.
  private mutating func object(_ number: Int) throws -> ArchiveValue {
    guard let graph, graph.objects.indices.contains(number) else {
      throw ArchiveError(.notEncodable, "a reference names an object that is not in its graph")
    }
    guard !openReferences.contains(number) else {
      throw ArchiveError(
        .notEncodable,
        "JSON cannot represent an object that refers to itself; exclude one of the references in the cycle")
    }
    if case .reference = graph.objects[number] {
      throw ArchiveError(.notEncodable, "an entry of a graph is a reference instead of an object")
    }
    // A shared object is written once for each reference, so the number of written objects could grow exponentially.
    expansions += 1
    guard expansions <= max(1 << 20, 16 * graph.objects.count) else {
      throw ArchiveError(
        .limitExceeded,
        "the JSON would contain more than \(expansions - 1) copies of shared objects; exclude some of the references",
        limit: .count)
    }
    return graph.objects[number]
  }

  // MARK: Containers

  private mutating func open<Sink: JSONSink & ~Copyable>(
    _ contents: JSONFrame.Contents, _ sink: inout Sink, caseName: String? = nil
  ) throws {
    let frame = JSONFrame(contents, caseName: caseName)
    try sink.open(isObject: frame.isObject)
    frames.append(frame)
  }

  /// Returns the contents of the JSON array or object for a value. For an enum case whose tag and associated values are members of the same
  /// object, also returns the name of the case.
  private mutating func contents(of value: ArchiveValue) throws -> (JSONFrame.Contents, caseName: String?) {
    switch value {
    case .array(let elements), .set(let elements): return (.elements(elements), nil)
    case .object(let object): return (.entries(object.entries), nil)
    case .map(let pairs): return (try contents(of: pairs), nil)
    case .record(let record):
      guard let layout = try writing.layout(of: record.shape) else {
        return (.entries(record.object.entries, typeName: record.typeName), nil)
      }
      guard let kinds = layout.kinds else { return (try contents(of: record, layout), nil) }
      guard kinds.isHierarchy else { return try contents(ofCase: record, kinds) }
      let contents = try contents(of: record, layout)
      guard let key = kinds.discriminator.key, let tag = kinds.tag(of: record.typeName) else { return (contents, nil) }
      return (try contents.tagged(key, tag, mayHoldTag: true), nil)
    default: throw JSONFrame.Contents.noMemberForTag()
    }
  }

  /// Returns the contents of a map. The map becomes an object if all keys can be written as text. Otherwise, it becomes an array of pairs.
  private func contents(of pairs: [ArchiveValue.MapEntry]) throws -> JSONFrame.Contents {
    var texts = Set<ExactKey>(minimumCapacity: pairs.count)
    var entries: [ArchiveObject.Entry] = []
    entries.reserveCapacity(pairs.count)
    for pair in pairs {
      guard let key = try JSONOutput.text(of: pair.key) else {
        try checkKeys(pairs)
        return .elements(pairs.map { .array([$0.key, $0.value]) })
      }
      guard texts.insert(ExactKey(key)).inserted else { throw ArchiveError.at(.key(key), JSONOutput.sameText()) }
      entries.append(ArchiveObject.Entry(key: key, value: pair.value))
    }
    return .entries(entries)
  }

  /// Throws an error if two keys have the same JSON text, such as the integer 1 and the decimal 1.
  private func checkKeys(_ pairs: [ArchiveValue.MapEntry]) throws {
    var texts = Set<[UInt8]>(minimumCapacity: pairs.count)
    for (index, pair) in pairs.enumerated() {
      var writer = JSONValueWriter(writing, limits: limits)
      var text = JSONOutput(isPretty: false, sortsKeys: false, limits: limits)
      do { try writer.write(pair.key, to: &text) } catch {
        throw ArchiveError.at(.index(index), ArchiveError.at(.index(0), error))
      }
      let bytes = text.buffer.array()
      // Keys that are written as JSON objects may have the same text, because two objects with equal contents can be different keys.
      guard bytes.first == UInt8(ascii: "{") || texts.insert(bytes).inserted else {
        throw ArchiveError.at(.index(index), JSONOutput.sameText())
      }
    }
  }

  private mutating func contents(
    ofCase record: ModelRecord, _ kinds: JSONKinds
  ) throws -> (JSONFrame.Contents, caseName: String?) {
    guard let name = record.keys.first, case .object(let payload)? = record[name] else {
      throw ArchiveError(.notEncodable, "an enum record must have exactly one case", typeName: record.typeName)
    }
    let (tag, content) = (kinds.tag(of: name) ?? name, kinds.content(of: payload))
    guard let key = kinds.discriminator.key else {
      let tagged = try kinds.discriminator.tagged(content, tag)
      return (.tagged(tagged.objectValue?.entries ?? [], caseName: name), nil)
    }
    do {
      var content = content ?? [:]
      if case .reference(let number) = content {
        content = try object(number)
        openReferences.append(number)
      }
      let (inside, inCase) = try contents(of: content)
      guard inCase == nil else { throw JSONFrame.Contents.noMemberForTag() }
      return (try inside.tagged(key, tag, mayHoldTag: false), name)
    } catch { throw ArchiveError.wrap(error).prefixed(by: .key(name), json: []) }
  }
}
