internal import Foundation
internal import StrataCore

/// Makes up values of any model, the same for each seed.
struct SampleValues {
  /// The deepest level at which optionals and collections have values. Models that contain themselves end there. The models inside have golden
  /// archives of their own, so only two records are deep.
  private var deepest: Int { turn < 2 ? 3 : 1 }
  /// The level beyond which a model that requires others is given up.
  private static let limit = 16
  private static let mostRecords = 64

  private var random: SplitMix
  /// Selects the case of each enum.
  private var turn = 0
  private var isEmpty = false

  init(seed: UInt64) { random = SplitMix(state: seed) }

  /// Records of a model: one with nothing that can be absent, and others until each case was reached, at most 64.
  ///
  /// - Throws: ``ArchiveError`` if a field has a type of which no value can be made up, and no default.
  mutating func records(of schema: ModelSchema) throws -> [ModelRecord] {
    let schemas = schema.inside.schemas + [schema]
    let types = schemas.flatMap { $0.fields.map(\.type) + $0.cases.flatMap(\.payload) }
    let cases = schemas.map(\.cases.count) + types.map(Self.caseCount)
    isEmpty = true
    var records = [try record(of: schema, depth: 0)]
    isEmpty = false
    for turn in 0..<max(2, min(cases.max() ?? 0, Self.mostRecords)) {
      self.turn = turn
      records.append(try record(of: schema, depth: 0))
    }
    return records
  }

  private mutating func record(of schema: ModelSchema, depth: Int) throws -> ModelRecord {
    guard depth < Self.limit else {
      throw ArchiveError(.notEncodable, "\(schema.name) requires models that require it")
    }
    guard schema.cases.isEmpty else { return try record(ofCase: sampleCase(of: schema, depth), schema, depth) }
    var record = ModelRecord(shape: schema.archivedShape.limited(to: []), values: [])
    for field in schema.fields where field.archive != .excluded {
      do {
        record[field.key] =
          field.isLibraryField || field.archive == .conditional
          ? try field.absentValue() : try value(of: field.type, depth: depth)
      } catch {
        guard let absent = try field.absentValue() else { throw ArchiveError.at(.key(field.key), error) }
        record[field.key] = absent
      }
    }
    return record
  }

  /// The case whose turn it is. Deep inside, it is one that does not hold the enum itself.
  private func sampleCase(of schema: ModelSchema, _ depth: Int) -> ModelSchema.CaseInfo {
    let cases = schema.cases
    let leaves = depth < deepest ? [] : cases.filter { !$0.payload.contains { Self.holds(schema, $0) } }
    let possible = leaves.isEmpty ? cases : leaves
    return possible[turn % possible.count]
  }

  /// Whether values of a type may hold a model.
  private static func holds(_ schema: ModelSchema, _ type: Any.Type) -> Bool {
    let shape = TypeShape(of: type)
    if case .model(let model) = shape.kind {
      return model.schema === schema || model.schema.inside.schemas.contains { $0 === schema }
    }
    return shape.parts.contains { holds(schema, $0) }
  }

  private mutating func record(ofCase info: ModelSchema.CaseInfo, _ schema: ModelSchema, _ depth: Int) throws
    -> ModelRecord
  {
    let keys = info.labels.isEmpty ? info.payload.indices.map { "_\($0)" } : info.labels
    var payload = ArchiveObject()
    for (key, type) in zip(keys, info.payload) { payload[key] = try value(of: type, depth: depth + 1) }
    return ModelRecord(
      typeName: schema.name, modelVersion: schema.modelVersion, fields: [(info.name, .object(payload))])
  }

  private mutating func value(of type: Any.Type, depth: Int) throws -> ArchiveValue {
    let hasMore = !isEmpty && depth < deepest
    switch TypeShape(of: type).kind {
    case .scalar(let scalar): return self.scalar(scalar, type)
    case .untyped: return hasMore ? ["text": "any value", "number": 1] : .null
    case .optional(let wrapped): return hasMore ? try value(of: wrapped, depth: depth) : .null
    case .array(let element):
      return .array(hasMore ? try (0..<2).map { _ in try value(of: element, depth: depth + 1) } : [])
    case .set(let element): return .set(hasMore ? [try value(of: element, depth: depth + 1)] : [])
    case .dictionary(let keys, let values):
      guard hasMore else { return .object(ArchiveObject()) }
      let (key, value) = (try value(of: keys, depth: depth + 1), try value(of: values, depth: depth + 1))
      if case .string(let key) = key { return .object(ArchiveObject([.init(key: key, value: value)])) }
      return .map([.init(key: key, value: value)])
    case .model(let model): return .record(try record(of: model.schema, depth: depth + 1))
    case .rawValue(let raw, _):
      let cases = Self.cases(of: type)
      if !cases.isEmpty { return try ValueCoding.value(of: cases[turn % cases.count]) }
      // A structure with a raw value takes any. An enum does not.
      let sample = try value(of: raw, depth: depth)
      guard let archivable = TypeShape.archivable(type), Self.reads(sample, archivable) else {
        throw Self.unknown(type, "let it conform to CaseIterable")
      }
      return sample
    case .opaque: throw Self.unknown(type, "give the field a default")
    }
  }

  private static func unknown(_ type: Any.Type, _ remedy: String) -> ArchiveError {
    ArchiveError(.notEncodable, "no value of \(type) can be made up; \(remedy)")
  }

  private static func reads<T: Archivable>(_ value: ArchiveValue, _ type: T.Type) -> Bool {
    // An error means that the type refuses the value.
    (try? T.make(from: value, in: DecodingContext(finishing: .never))) != nil
  }

  /// The number of cases of an enum, or of the one with the most in a container.
  private static func caseCount(_ type: Any.Type) -> Int {
    max(cases(of: type).count, TypeShape(of: type).parts.map(caseCount).max() ?? 0)
  }

  private static func cases(of type: Any.Type) -> [Any] {
    guard let listed = type as? any CaseIterable.Type else { return [] }
    func all<T: CaseIterable>(_ type: T.Type) -> [Any] { Array(type.allCases) }
    return all(listed)
  }

  private mutating func scalar(_ scalar: TypeShape.Scalar, _ type: Any.Type) -> ArchiveValue {
    switch scalar {
    case .bool: return .bool(!isEmpty)
    case .integer:
      guard !isEmpty, let type = type as? any FixedWidthInteger.Type else { return 0 }
      return integer(type)
    case .float: return .float(isEmpty ? 0 : Float(random.below(1 << 20)) / 64)
    case .double: return .double(isEmpty ? 0 : Double(random.below(1 << 30)) / 1000)
    case .otherFloat: return .double(isEmpty ? 0 : Double(random.below(1 << 6)) / 4)
    case .decimal: return .decimal(isEmpty ? 0 : Decimal(random.below(1 << 30)) / 1000)
    case .string: return .string(isEmpty ? "" : "Tëxt \(random.below(1 << 20))")
    case .data: return .data(isEmpty ? Data() : Data([0, 0xFF, UInt8(random.below(256))]))
    case .date:
      return .date(Date(timeIntervalSince1970: isEmpty ? 0 : 1_500_000_000 + Double(random.below(1 << 28)) / 4))
    case .url: return .url(Self.url(isEmpty ? 0 : random.below(1 << 20)))
    case .uuid: return .uuid(random.uuid())
    }
  }

  private static func url(_ number: Int) -> URL {
    URL(string: "https://example.com/\(number)?q=%C3%AB") ?? URL(fileURLWithPath: "/")
  }

  private mutating func integer<T: FixedWidthInteger>(_ type: T.Type) -> ArchiveValue {
    // Half of the width, so that the product of two numbers does not overflow in a hook.
    let large = T.max >> T(T.bitWidth / 2)
    let numbers = [large, T.isSigned ? 0 - large : 1, 1]
    return .integer(numbers[(turn + random.below(2)) % numbers.count])
  }
}

/// SplitMix64 (Steele et al., 2014), which is the same on each platform and in each version.
private struct SplitMix {
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
    let (one, other) = (next(), next())
    func byte(_ word: UInt64, _ place: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> (8 * place)) }
    return UUID(
      uuid: (
        byte(one, 0), byte(one, 1), byte(one, 2), byte(one, 3), byte(one, 4), byte(one, 5), byte(one, 6), byte(one, 7),
        byte(other, 0), byte(other, 1), byte(other, 2), byte(other, 3), byte(other, 4), byte(other, 5), byte(other, 6),
        byte(other, 7)
      ))
  }
}
