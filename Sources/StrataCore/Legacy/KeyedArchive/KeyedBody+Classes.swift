/// What objects of a class become in the body of an archive.
enum KeyedBodyClass {
  case model(KeyedModelPlan)
  case date, array, set, string, url, dictionary
  /// A plain value with nothing but scalars inside.
  case other(FoundationValue)

  init(_ plain: FoundationValue) throws {
    switch plain {
    case .date: self = .date
    case .array: self = .array
    case .string: self = .string
    case .url: self = .url
    case .dictionary: self = .dictionary
    case .data, .uuid, .decimal, .number: self = .other(plain)
    case .set: self = .set
    case .countedSet, .null: throw BinaryObjects.Surprise()
    }
  }
}

extension KeyedBody {
  mutating func type(at number: Int) throws -> KeyedBodyClass {
    let target = try target(number)
    if target.number == lastClass.number { return classes[lastClass.place] }
    if let place = classPlaces[target.number] {
      lastClass = (target.number, place)
      return classes[place]
    }
    guard target.marker >> 4 == 0xD, !target.isNull else { throw Surprise() }
    let type = try readType(target.number)
    lastClass = (target.number, classes.count)
    classPlaces[target.number] = classes.count
    classes.append(type)
    return type
  }

  private mutating func readType(_ number: Int) throws -> KeyedBodyClass {
    var name = ""
    var chain: [String] = []
    for (key, value) in try entries(at: number) {
      switch key {
      case "$classname": name = try self.name(value)
      case "$classes":
        let list = try target(value)
        guard list.marker >> 4 == 0xA else { throw Surprise() }
        let (start, count) = try objects.content(at: list.offset, width: objects.referenceSize)
        guard count > 0, count <= 64 else { throw Surprise() }
        meet(list.number, start - list.offset + count * objects.referenceSize)
        for place in 0..<count {
          chain.append(try self.name(objects.reference(at: start + place * objects.referenceSize)))
        }
      default: throw Surprise()
      }
    }
    guard !name.isEmpty else { throw Surprise() }
    let type = KeyedClass(name: name, chain: chain.isEmpty ? [name] : chain, hints: [])
    if let plain = FoundationValue.find(type) { return try KeyedBodyClass(plain) }
    guard FoundationRecord.isPlain(name), let schema = models.schema(of: name), !schema.isEnumeration else {
      throw Surprise()
    }
    if let plan = plans[ObjectIdentifier(schema)] { return .model(plan) }
    let plan = KeyedModelPlan(schema)
    plans[ObjectIdentifier(schema)] = plan
    return .model(plan)
  }
}
