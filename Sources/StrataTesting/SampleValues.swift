internal import Foundation
internal import StrataCore

/// Generates values of recorded types. The same seed generates the same values.
///
/// Recorded types do not need a Swift type. Values can therefore also be generated for versions that the program no
/// longer declares.
struct SampleValues {
  enum Variety {
    /// The smallest values: nil, zero, empty strings and empty collections.
    case empty
    /// Values in which all optionals and collections are filled. Each enum has the case at this index, modulo the
    /// number of its cases.
    case turn(Int)
    /// Random values, including extreme numbers, unusual strings and missing values.
    case random
  }

  /// The nesting depth at which generation fails. Without this limit, generation would not end for models that require
  /// each other.
  private static let limit = 16

  private let schemas: [String: [RecordedSchema]]
  private let given: [String: [ArchiveValue]]
  private let current: [String: RecordedType]
  private(set) var random: SplitMix
  private var variety = Variety.empty
  /// The maximum depth at which optionals and collections are filled. It ends the recursion of models that contain
  /// themselves.
  private var deepest = 3

  /// - Parameters:
  ///   - schemas: the models that values may contain, by name. If several versions of a model are given, records of
  ///     each of them may occur.
  ///   - given: values for fields, by model and key, such as `Issue.stars`.
  ///   - current: the types of the program's fields, by model and key. They list the cases of enums whose cases were
  ///     not recorded.
  init(
    _ schemas: [String: [RecordedSchema]], given: [String: [ArchiveValue]] = [:],
    current: [String: RecordedType] = [:], seed: UInt64
  ) {
    (self.schemas, self.given, self.current) = (schemas, given, current)
    random = SplitMix(state: seed)
  }

  /// Generates a record of a recorded version of a model.
  ///
  /// - Throws: ``ArchiveError`` if a field has no default and no value can be generated for its type.
  mutating func record(of schema: RecordedSchema, _ variety: Variety, deepest: Int = 3) throws -> ModelRecord {
    (self.variety, self.deepest) = (variety, deepest)
    return try record(of: schema, depth: 0)
  }

  /// Returns the number of cases of the largest enum in a model and its nested models.
  func caseCount(of schema: RecordedSchema) -> Int {
    var most = 0
    for schema in reachable(from: schema) {
      let types = schema.fields.values.map(\.type) + (schema.cases ?? [:]).values.flatMap(\.payload.values)
      most = max(most, schema.cases?.count ?? 0, types.map { RecordedType(parsing: $0).caseCount }.max() ?? 0)
    }
    return most
  }

  private func reachable(from schema: RecordedSchema) -> [RecordedSchema] {
    var found = [schema]
    var names: Set<String> = [schema.name]
    var place = 0
    while place < found.count {
      for name in found[place].modelNames where names.insert(name).inserted { found += schemas[name] ?? [] }
      place += 1
    }
    return found
  }

  private mutating func record(of schema: RecordedSchema, depth: Int) throws -> ModelRecord {
    guard depth < Self.limit else {
      throw ArchiveError(
        .notEncodable,
        "no sample value of the model \(schema.name) can be generated because a required field contains the model "
          + "itself; make the field optional, or give it a default")
    }
    if let cases = schema.cases {
      return try record(ofCase: sampleCase(of: schema, cases, depth), of: schema, depth: depth)
    }
    var levels: [ModelRecord.Superclass] = []
    var values: [(key: String, value: ArchiveValue)] = []
    var level: RecordedSchema? = schema
    while let current = level {
      if current.name != schema.name {
        levels.append(.init(typeName: current.name, modelVersion: current.version))
      }
      for (key, field) in current.fields.sorted(by: { $0.key < $1.key }) where field.isArchived {
        guard let value = try value(of: field, "\(current.name).\(key)", depth) else { continue }
        values.append((key, value))
      }
      level = try current.superclass.map { try self.schema(named: $0) }
    }
    let shape = RecordShape(
      typeName: schema.name, modelVersion: schema.version, keys: values.map(\.key), levels: levels)
    return ModelRecord(shape: shape, values: values.map(\.value))
  }

  /// Returns a value for a field; `nil` if the field has a default and no value can be generated.
  private mutating func value(of field: RecordedSchema.Field, _ name: String, _ depth: Int) throws -> ArchiveValue? {
    let recorded = RecordedType(parsing: field.type)
    let type = current[name].map { recorded.listingCases(of: $0) } ?? recorded
    do {
      guard field.archive == ArchiveBehavior.conditional.rawValue else {
        let value = try value(of: type, depth)
        // Given values of a different kind than the generated value are ignored, because the type of a field can differ between versions.
        // If the generated value is null, all given values are used.
        let values = (given[name] ?? []).filter { value.isNull || $0.kind == value.kind }
        return values.isEmpty ? value : values[random.below(UInt64(values.count))]
      }
    } catch let error as ArchiveError {
      guard field.isOptional else { throw ArchiveError.at(.key(name), error) }
    }
    return type.isOptional ? .null : nil
  }

  private mutating func schema(named name: String) throws -> RecordedSchema {
    guard let versions = schemas[name], !versions.isEmpty else {
      throw ArchiveError(
        .notEncodable,
        "the model \(name) has no recorded schema; add the model to SchemaLock, and record it")
    }
    return versions[random.below(UInt64(versions.count))]
  }

  /// Returns the case to generate. At the maximum depth, a case that does not contain the enum itself is preferred.
  private mutating func sampleCase(
    of schema: RecordedSchema, _ cases: [String: RecordedSchema.Case], _ depth: Int
  ) -> (key: String, value: RecordedSchema.Case) {
    let cases = cases.sorted { $0.key < $1.key }
    let leaves = depth < deepest ? [] : cases.filter { !$0.value.payload.values.contains { holds(schema, $0) } }
    let possible = leaves.isEmpty ? cases : leaves
    return possible[turn(possible.count)]
  }

  private mutating func turn(_ count: Int) -> Int {
    switch variety {
    case .empty: 0
    case .turn(let turn): turn % count
    case .random: random.below(UInt64(count))
    }
  }

  /// Whether values of a type may contain records of a model.
  private func holds(_ schema: RecordedSchema, _ type: String) -> Bool {
    RecordedType(parsing: type).names.contains { name in
      name == schema.name || (schemas[name] ?? []).contains { reachable(from: $0).contains { $0.name == schema.name } }
    }
  }

  private mutating func record(
    ofCase info: (key: String, value: RecordedSchema.Case), of schema: RecordedSchema, depth: Int
  ) throws -> ModelRecord {
    var payload = ArchiveObject()
    for (key, type) in info.value.payload.sorted(by: { $0.key < $1.key }) {
      payload[key] = try value(of: RecordedType(parsing: type), depth + 1)
    }
    return ModelRecord(
      typeName: schema.name, modelVersion: schema.version, fields: [(info.key, .object(payload))])
  }

  // MARK: Values

  mutating func value(of type: RecordedType, _ depth: Int = 0) throws -> ArchiveValue {
    switch type {
    case .optional(let wrapped): return count(depth, atMost: 1) == 0 ? .null : try value(of: wrapped, depth)
    case .array(let element):
      return .array(try (0..<count(depth, atMost: 2)).map { _ in try value(of: element, depth + 1) })
    case .set(let element):
      return .set(count(depth, atMost: 1) == 0 ? [] : [try value(of: element, depth + 1)])
    case .dictionary(let keys, let values):
      guard count(depth, atMost: 1) > 0 else { return .object(ArchiveObject()) }
      let (key, value) = (try value(of: keys, depth + 1), try value(of: values, depth + 1))
      if case .string(let key) = key { return .object(ArchiveObject([.init(key: key, value: value)])) }
      return .map([.init(key: key, value: value)])
    case .enumeration(let raw, let cases?):
      let values = cases.keys.sorted()
      guard !values.isEmpty else { throw Self.unknown(type) }
      return try rawValue(values[turn(values.count)], raw)
    case .enumeration(let raw, nil): return try value(of: RecordedType(parsing: raw), depth)
    case .coded: throw Self.unknown(type)
    case .named(let name): return try scalar(name) ?? .record(record(of: schema(named: name), depth: depth + 1))
    }
  }

  private mutating func count(_ depth: Int, atMost most: Int) -> Int {
    switch variety {
    case .empty: 0
    case .turn: depth < deepest ? most : 0
    case .random: depth < deepest ? random.below(UInt64(most) + 1) : 0
    }
  }

  private func rawValue(_ text: String, _ raw: String) throws -> ArchiveValue {
    if let integer = WideInteger(text), Self.integers[raw] != nil { return ArchiveValue(integer) }
    guard raw == "String" else { throw Self.unknown(.named(raw)) }
    return .string(text)
  }

  private static func unknown(_ type: RecordedType) -> ArchiveError {
    ArchiveError(
      .notEncodable,
      "no sample value of the type \(type.text) can be generated; give the field a default, or make it optional"
    )
  }

  /// Returns a value of the scalar type with this name; `nil` if no scalar type has this name.
  private mutating func scalar(_ name: String) -> ArchiveValue? {
    if let type = Self.integers[name] { return integer(type) }
    let isEmpty = if case .empty = variety { true } else { false }
    switch name {
    case "Bool": return .bool(!isEmpty && (!isRandom || random.below(2) == 1))
    case "Float": return .float(isEmpty ? 0 : Float(random.below(1 << 20)) / 64)
    case "Double": return .double(isEmpty ? 0 : Double(random.below(1 << 30)) / 1000)
    case "Float16", "Float80", "CGFloat": return .double(isEmpty ? 0 : Double(random.below(1 << 6)) / 4)
    case "Decimal": return .decimal(isEmpty ? 0 : Decimal(random.below(1 << 30)) / 1000)
    case "String": return .string(isEmpty ? "" : text())
    case "Data": return .data(isEmpty ? Data() : Data([0, 0xFF, UInt8(random.below(256))]))
    case "Date":
      return .date(Date(timeIntervalSince1970: isEmpty ? 0 : 1_500_000_000 + Double(random.below(1 << 28)) / 4))
    case "URL": return .url(Self.url(isEmpty ? 0 : random.below(1 << 20)))
    case "UUID": return .uuid(random.uuid())
    case "ArchiveValue": return isEmpty ? .null : ["text": "any value", "number": 1]
    default: return nil
    }
  }

  private var isRandom: Bool { if case .random = variety { true } else { false } }

  private mutating func text() -> String {
    let number = random.below(1 << 20)
    guard isRandom else { return "Tëxt \(number)" }
    let forms = [
      "", " ", "text \(number)", " spaced \(number) ", "İstanbul \(number)", "i\(number)", "e\u{301}\(number)",
      "👩‍👩‍👧\(number)",
      "line\n\(number)", "\(number)", String(repeating: "long ", count: 60) + "\(number)",
    ]
    return forms[random.below(UInt64(forms.count))]
  }

  private static func url(_ number: Int) -> URL {
    URL(string: "https://example.com/\(number)?q=%C3%AB") ?? URL(fileURLWithPath: "/")
  }

  private mutating func integer(_ type: any FixedWidthInteger.Type) -> ArchiveValue {
    func integer<T: FixedWidthInteger>(_ type: T.Type) -> ArchiveValue {
      // Only half of the bits are used, because a hook may multiply two numbers, which must not overflow.
      let large = T.max >> T(T.bitWidth / 2)
      let numbers = [large, T.isSigned ? 0 - large : 1, 1]
      switch variety {
      case .empty: return 0
      case .turn(let turn): return .integer(numbers[(turn + random.below(2)) % numbers.count])
      case .random:
        return .integer(([T.zero, T(truncatingIfNeeded: random.next()) & large] + numbers)[random.below(5)])
      }
    }
    return integer(type)
  }

  private static let integers: [String: any (FixedWidthInteger & SendableMetatype).Type] = {
    let types: [any (FixedWidthInteger & SendableMetatype).Type] = [
      Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self, UInt32.self,
      UInt64.self,
    ]
    var all = Dictionary(uniqueKeysWithValues: types.map { ("\($0)", $0) })
    if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) {
      (all["Int128"], all["UInt128"]) = (Int128.self, UInt128.self)
    }
    return all
  }()
}

extension RecordedSchema {
  /// The names of the models and scalar types in the fields, the cases and the superclass.
  var modelNames: [String] {
    let types = fields.values.map(\.type) + (cases ?? [:]).values.flatMap(\.payload.values)
    return types.flatMap { RecordedType(parsing: $0).names } + (superclass.map { [$0] } ?? [])
  }
}

extension RecordedType {
  /// The names of the scalar types and models in this type.
  var names: [String] {
    switch self {
    case .named(let name): [name]
    case .optional(let type), .array(let type), .set(let type): type.names
    case .dictionary(let keys, let values): keys.names + values.names
    case .enumeration, .coded: []
    }
  }

  /// The number of cases of an enum. For a container, the number of cases of the largest enum inside.
  fileprivate var caseCount: Int {
    switch self {
    case .enumeration(_, let cases): cases?.count ?? 0
    case .optional(let type), .array(let type), .set(let type): type.caseCount
    case .dictionary(let keys, let values): max(keys.caseCount, values.caseCount)
    case .named, .coded: 0
    }
  }
}

/// The random number generator SplitMix64 (Steele et al., 2014). It generates the same numbers on each platform and in
/// each version of Swift.
struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }

  mutating func below(_ bound: UInt64) -> Int { Int(next() % bound) }

  mutating func uuid() -> UUID {
    var bytes = [next(), next()].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }[...]
    func byte() -> UInt8 { bytes.removeFirst() }
    return UUID(
      uuid: (
        byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte(),
        byte(), byte()
      ))
  }
}
