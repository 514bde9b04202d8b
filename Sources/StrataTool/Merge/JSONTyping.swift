internal import Foundation
internal import StrataCore

/// Converts JSON values to the types that an archive has at the same paths.
struct JSONTyping {
  /// The first non-null value of each field, by type name and key. It determines the type of the field if the field is
  /// null in the example record.
  private var fields: [String: [String: ArchiveValue]] = [:]
  /// Whether a string that cannot be parsed as the archive's type is an error. Otherwise the string is kept.
  let isStrict: Bool
  private let context = DecodingContext(source: .json)

  /// - Parameter examples: values from archives. The values must not contain graphs.
  init(examples: [ArchiveValue], isStrict: Bool) {
    self.isStrict = isStrict
    for example in examples { note(example) }
  }

  private mutating func note(_ value: ArchiveValue) {
    if case .record(let record) = value {
      for (key, value) in record.fields where !value.isNull && fields[record.typeName]?[key] == nil {
        fields[record.typeName, default: [:]][key] = value
      }
    }
    value.forEachInside { note($0) }
  }

  /// Returns the JSON value, converted to the types in the example.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` if a string cannot be parsed as the example's type.
  func typed(_ json: ArchiveValue, like example: ArchiveValue?) throws -> ArchiveValue {
    try typed(json, like: example, isStrict)
  }

  private func typed(_ json: ArchiveValue, like example: ArchiveValue?, _ isStrict: Bool) throws -> ArchiveValue {
    guard let example else { return json }
    switch (example, json) {
    case (.record(let example), .object(let object)): return .record(try record(object, like: example, isStrict))
    case (.object(let example), .object(let object)):
      let common = Self.common(example.entries.map(\.value))
      return .object(
        ArchiveObject(
          try object.entries.map { entry in
            let known = example[entry.key]
            do {
              let value = try typed(entry.value, like: known ?? common, isStrict && known != nil)
              return .init(key: entry.key, value: value)
            } catch { throw ArchiveError.at(.key(entry.key), error) }
          }))
    case (.array(let examples), .array(let elements)): return .array(try array(elements, like: examples, isStrict))
    case (.set(let examples), .array(let elements)):
      let common = Self.common(examples)
      let members = try elements.map { try typed($0, like: common ?? examples.first, isStrict && common != nil) }
      return .set(try CanonicalOrder.sorted(members) { try $0.write($1) })
    case (.map(let examples), .array(let pairs)): return try map(pairs, like: examples, isStrict) ?? json
    case (.map(let examples), .object(let object)):
      let keys = Self.keys(of: object, like: examples)
      return try map(zip(keys, object.entries).map { .array([$0, $1.value]) }, like: examples, isStrict) ?? json
    default: return try scalar(json, like: example, isStrict)
    }
  }

  private func record(_ object: ArchiveObject, like example: ModelRecord, _ isStrict: Bool) throws -> ModelRecord {
    func value(_ key: String, _ json: ArchiveValue) throws -> ArchiveValue {
      let own = example[key].flatMap { $0.isNull ? nil : $0 }
      do { return try typed(json, like: own ?? fields[example.typeName]?[key], isStrict) } catch {
        throw ArchiveError.at(.key(key), error)
      }
    }
    // Known fields keep the order of the example, and new fields are appended.
    let known = example.keys.compactMap { key in object[key].map { (key, $0) } }
    let others = object.entries.filter { example[$0.key] == nil }.map { ($0.key, $0.value) }
    var record = ModelRecord(
      typeName: example.typeName, modelVersion: example.modelVersion,
      object: ArchiveObject(try (known + others).map { .init(key: $0.0, value: try value($0.0, $0.1)) }))
    if !example.superclasses.isEmpty { record.superclasses = example.superclasses }
    return record
  }

  /// Converts each element to the types of the example with the same id. Without such an example, uses the example at
  /// the same index, or else an example that fits all elements.
  private func array(_ elements: [ArchiveValue], like examples: [ArchiveValue], _ isStrict: Bool) throws
    -> [ArchiveValue]
  {
    let common = Self.common(examples)
    let ids = examples.compactMap { example in example["id"].map { ($0, example) } }
    let known = Dictionary(ids, uniquingKeysWith: { first, _ in first })
    return try elements.enumerated().map { place, element in
      let own = element["id"].flatMap { known[$0] } ?? (examples.indices.contains(place) ? examples[place] : nil)
      do { return try typed(element, like: own ?? common, isStrict && common != nil) } catch {
        throw ArchiveError.at(.index(place), error)
      }
    }
  }

  /// Converts the keys of an object to map keys. A key becomes the example's key with the same text, if there is one.
  /// Otherwise the key becomes an integer if all of the example's keys are integers.
  private static func keys(of object: ArchiveObject, like examples: [ArchiveValue.MapEntry]) -> [ArchiveValue] {
    let known = Dictionary(
      examples.compactMap { example in
        let data = if case .data(let data) = example.key { data.base64EncodedString() } else { nil as String? }
        return (data ?? example.key.scalarText).map { (ExactKey($0), example.key) }
      }, uniquingKeysWith: { first, _ in first })
    let areIntegers = common(examples.map(\.key))?.kind == ArchiveValue.int(0).kind
    return object.keys.map { text in
      known[ExactKey(text)] ?? (areIntegers ? WideInteger(text).map { ArchiveValue($0) } : nil) ?? .string(text)
    }
  }

  private func map(_ pairs: [ArchiveValue], like examples: [ArchiveValue.MapEntry], _ isStrict: Bool) throws
    -> ArchiveValue?
  {
    let (key, value) = (Self.common(examples.map(\.key)), Self.common(examples.map(\.value)))
    var entries: [ArchiveValue.MapEntry] = []
    for pair in pairs {
      guard case .array(let parts) = pair, parts.count == 2 else { return nil }
      let typedKey = try typed(parts[0], like: key, isStrict)
      let known = examples.first { $0.key == typedKey }?.value
      entries.append(.init(key: typedKey, value: try typed(parts[1], like: known ?? value, isStrict)))
    }
    return .map(try CanonicalOrder.sorted(entries) { try $0.write($1.key) })
  }

  /// Decodes a JSON number or string as a value of the example's type. A value that cannot be converted is kept
  /// unchanged.
  private func scalar(_ json: ArchiveValue, like example: ArchiveValue, _ isStrict: Bool) throws -> ArchiveValue {
    // `try?` because an error only means that the value cannot be converted.
    func made<T: Archivable>(_ wrap: (T) -> ArchiveValue) -> ArchiveValue? {
      (try? T.decode(from: json, in: context)).map(wrap)
    }
    let value: ArchiveValue? =
      switch example {
      case .double: made(ArchiveValue.double)
      case .float: made(ArchiveValue.float)
      case .decimal: made(ArchiveValue.decimal)
      case .date: made(ArchiveValue.date)
      case .url: made(ArchiveValue.url)
      case .uuid: made(ArchiveValue.uuid)
      case .data: made(ArchiveValue.data)
      default: json
      }
    if value == nil, isStrict, Self.isText(example), case .string = json {
      throw ArchiveError.mismatch(
        expected: "\(example.rootName), as in the local archive", found: "a string that cannot be converted")
    }
    return value ?? json
  }

  /// Whether JSON represents values of this kind as text.
  private static func isText(_ value: ArchiveValue) -> Bool {
    switch value {
    case .date, .url, .uuid, .data: true
    default: false
    }
  }

  /// Returns a value that serves as the example for all elements of an array, or `nil` if the given values are of
  /// different kinds or are all null.
  private static func common(_ values: [ArchiveValue]) -> ArchiveValue? {
    func name(_ value: ArchiveValue) -> String {
      if case .record(let record) = value { "record " + record.typeName } else { value.kind }
    }
    let known = values.filter { !$0.isNull }
    guard let first = known.first, known.allSatisfy({ name($0) == name(first) }) else { return nil }
    return first
  }
}
