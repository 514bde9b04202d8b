import Foundation

/// The shared state of one decoding: limits, and the report of upgrades.
public final class DecodingContext {
  // One reader at a time uses the context, and checking exclusivity would cost more than reading a small body.
  package let limits: ArchiveLimits
  /// The remaining work for all readers of the file.
  package let budget: WorkBudget
  /// Whether records contain excluded fields, as merging needs.
  package let includesExcluded: Bool
  /// The source of the values: JSON has dates, URLs and data as strings.
  package let source: DecodingSource
  /// Whether each record has all keys of its version, as encoders write them. False if values can be partial.
  @exclusivity(unchecked) package var readsCompleteRecords = false
  /// The treatment of decoded models.
  let finishing: Finishing
  /// The first invalid object, without the path to it.
  @exclusivity(unchecked) var firstFailure: ArchiveError?
  /// Further options of the reader of a format; `nil` if there are none.
  @exclusivity(unchecked) package var options: (any AnyObject & Sendable)?
  /// Whether reading continues after an error, to find all errors.
  @exclusivity(unchecked) var collectsErrors = false
  /// Whether an element that breaks a rule counts as invalid if invalid elements are skipped, in a context that checks no rules itself.
  @exclusivity(unchecked) var triesRules = true
  @exclusivity(unchecked) package var report = DecodingReport()
  /// The floors of newer versions in the archive.
  @exclusivity(unchecked) package var floors = StampFloors()
  /// The data of a row outside its bytes; `nil` for an archive.
  @exclusivity(unchecked) package var row: RowContents?
  /// The objects of the graph that is being read.
  @exclusivity(unchecked) package var objects: ObjectTable?
  @exclusivity(unchecked) package var graph = GraphReading()
  /// Classes that may occur where one of their superclasses is expected.
  @exclusivity(unchecked) package var subclasses: [any VersionedModel.Type] = []
  /// Whether a decoded model has a merge base: the server's values.
  @exclusivity(unchecked) var hasMergeBase = false
  @exclusivity(unchecked) private var ownCaches: DecodingCaches?

  /// The caches, created when they are first needed. Most small bodies need none.
  private var caches: DecodingCaches {
    if let known = ownCaches { return known }
    let caches = DecodingCaches(budget)
    ownCaches = caches
    return caches
  }

  /// Finds duplicates in sets and keys.
  var digests: ValueDigests { caches.digests }

  /// URLs of a JSON text, each in one of a fixed number of slots.
  var urls: [(text: String, url: URL)?] {
    get { caches.urls }
    _modify { yield &caches.urls }
  }

  package init(
    limits: ArchiveLimits = ArchiveLimits(), source: DecodingSource = .archive, includesExcluded: Bool = false,
    finishing: Finishing = .atOnce(), budget: WorkBudget? = nil
  ) {
    self.limits = limits
    self.budget = budget ?? WorkBudget(limits)
    self.source = source
    self.includesExcluded = includesExcluded
    self.finishing = finishing
  }

  /// A context for decoding models only to test whether they can be decoded.
  var trying: DecodingContext { sharing(.gathering(validates: triesRules)) }

  private func sharing(_ finishing: Finishing) -> DecodingContext {
    let context = DecodingContext(
      limits: limits, source: source, includesExcluded: includesExcluded, finishing: finishing, budget: budget)
    context.options = options
    context.subclasses = subclasses
    context.readsCompleteRecords = readsCompleteRecords
    context.floors = floors
    context.triesRules = finishesModels ? validates : triesRules
    return context
  }

  /// Clears the shared values before the next body, because a stream can have any number of bodies.
  func forgetShared() {
    if let ownCaches, !ownCaches.shared.isEmpty { ownCaches.shared.removeAll(keepingCapacity: true) }
  }

  /// The value of an integer. Equal values share their memory.
  func shared(_ integer: WideInteger) throws -> ArchiveValue {
    let value = ArchiveValue(integer)
    guard case .wideInteger = value else { return value }
    return try shared(.integer(integer)) {
      try budget.spend(weight: WorkBudget.ofShared)
      return value
    }
  }

  /// The value of a UUID. Equal values share their memory.
  func shared(_ uuid: UUID) -> ArchiveValue { shared(.uuid(uuid)) { .uuid(uuid) } }

  /// A URL. Equal texts are parsed once.
  func sharedURL(_ text: String, _ base: String? = nil, _ make: () throws -> URL) throws -> URL {
    guard case .url(let url) = try shared(.url(ExactKey(text), base: base.map { ExactKey($0) }), { .url(try make()) })
    else { return try make() }
    return url
  }

  private func shared(_ key: DecodingCaches.SharedKey, _ make: () throws -> ArchiveValue) rethrows -> ArchiveValue {
    // One context reads any number of rows, so the table would grow without bound.
    if row != nil { return try make() }
    let caches = caches
    if let known = caches.shared[key] { return known }
    let value = try make()
    caches.shared[key] = value
    return value
  }

  /// The classes that the objects of a graph may have, by type name.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidSchema` if two of them have the same name.
  package func objectTypes<T: Archivable>(of type: T.Type) throws -> [String: any VersionedModel.Type] {
    if let known = caches.objectTypes, known.root == ObjectIdentifier(T.self) { return known.types }
    let types = try SchemaCatalog.objectTypes(of: T.self, and: subclasses)
    caches.objectTypes = (ObjectIdentifier(T.self), types)
    return types
  }

  /// The schemas of a model, of the models inside it and of their subclasses, looked up once for many objects.
  func catalog(of type: any VersionedModel.Type) -> SchemaCatalog {
    if let known = caches.catalogs[ObjectIdentifier(type)] { return known }
    let catalog = SchemaCatalog(of: type, and: subclasses)
    caches.catalogs[ObjectIdentifier(type)] = catalog
    return catalog
  }

  /// Counts the objects of a graph that was read, so that their numbers are not used again.
  ///
  /// A method of the context, because the thread sanitizer's build rejects the addition within a reader.
  func passObjects(_ count: Int) { graph.sharedCount += count }

  /// Counts an object of the graph that is being read. Tag 29 may refer to it from now on.
  func passObject() { graph.passed? += 1 }

  /// Whether values were written by hand: objects without a type, and arrays instead of sets.
  package var takesPlainObjects: Bool { source == .dictionary || source == .update }

  /// The indices of a schema's fields in records of a shape, computed once for many records; -1 for a field that they lack.
  ///
  /// - Parameter reports: whether the records have an older version. If so, the report lists keys that no field takes,
  ///   and fields that take their defaults.
  package func places(of schema: ModelSchema, in shape: RecordShape, reports: Bool = false) -> [Int] {
    let caches = caches
    if let known = caches.placements.firstIndex(where: { $0.shape === shape && $0.schema === schema }) {
      return caches.placements[known].places
    }
    let places = schema.fields.map { field in
      shape.place(of: field.key) ?? field.formerly.lazy.compactMap { shape.place(of: $0) }.first ?? -1
    }
    // Data can contain any number of shapes.
    guard caches.placements.count < 32 else { return places }
    caches.placements.append((schema, shape, places))
    if reports {
      for (field, place) in zip(schema.fields, places) where place < 0 && field.archive == .always {
        report.addDefault(field.key, typeName: schema.name)
      }
      for key in shape.keys where !schema.takenKeys.contains(ExactKey(key)) {
        report.addUnusedKey(key, typeName: schema.name)
      }
    }
    return places
  }
}

/// Cached results of one context that later values may need again.
final class DecodingCaches {
  enum SharedKey: Hashable {
    case integer(WideInteger)
    case uuid(UUID)
    case url(ExactKey, base: ExactKey?)
  }

  let digests: ValueDigests
  /// The values of a body that repeat without their own numbers, by content. Equal ones share memory.
  @exclusivity(unchecked) var shared: [SharedKey: ArchiveValue] = [:]
  /// The classes found for the last root. A stream has a graph for each of its models.
  @exclusivity(unchecked) var objectTypes: (root: ObjectIdentifier, types: [String: any VersionedModel.Type])?
  @exclusivity(unchecked) var catalogs: [ObjectIdentifier: SchemaCatalog] = [:]
  /// The indices of the fields of schemas in shapes that were read.
  @exclusivity(unchecked) var placements: [(schema: ModelSchema, shape: RecordShape, places: [Int])] = []
  /// URLs of a JSON text, each in one of a fixed number of slots.
  @exclusivity(unchecked) var urls: [(text: String, url: URL)?] = []

  init(_ budget: WorkBudget) { digests = ValueDigests(budget) }
}

/// The treatment of a model after all its fields are set.
package enum Finishing: Sendable {
  /// Nothing, for a model that is an intermediate result, like those of a merge.
  case never
  /// Its hook runs and its rules are checked. The first failure is thrown at once.
  ///
  /// - Parameter keepsReplacements: whether values replaced by rules stay replaced.
  case atOnce(keepsReplacements: Bool = true)
  /// Its hook runs and its rules are checked, unless they are skipped. Decoding continues after a failure, so that all
  /// are found, and ``DecodingContext/checkFailures(of:)`` must follow.
  case gathering(validates: Bool)
}

extension DecodingContext {
  /// Whether objects are finished.
  package var finishesModels: Bool { if case .never = finishing { false } else { true } }

  /// Whether finished objects are validated.
  package var validates: Bool {
    switch finishing {
    case .never: false
    case .atOnce: true
    case .gathering(let validates): validates
    }
  }

  /// Whether values replaced by rules stay replaced.
  package var keepsReplacements: Bool { if case .atOnce(let keeps) = finishing { keeps } else { true } }

  /// Whether decoding continues after an invalid object.
  var collectsFailures: Bool { if case .gathering = finishing { true } else { false } }
}

/// The observations of a decoding: upgraded types, and assumptions about older data.
public struct DecodingReport: Sendable, Hashable {
  /// Objects of one type that were written by an older version.
  public struct Upgrade: Sendable, Hashable {
    /// The registered name of the type.
    public let typeName: String
    /// The version that wrote them.
    public let fromVersion: Int
    /// The version that they have now.
    public let toVersion: Int
    /// The number of objects.
    public var count: Int
  }

  /// The upgrades in the order in which they occurred.
  public private(set) var upgrades: [Upgrade] = []
  /// Types whose objects had no model version. It counts as 0.
  public var typesWithoutVersion: [String] { details.first?.typesWithoutVersion ?? [] }

  /// A key of a type that was read from an older version.
  public struct Key: Sendable, Hashable, CustomStringConvertible {
    /// The registered name of the type.
    public let typeName: String
    /// The key in the record, after the steps.
    public let key: String

    /// `Person.nick`
    public var description: String { "\(typeName).\(key)" }
  }

  /// Parts that most reports do not have.
  private struct Details: Sendable, Hashable {
    var typesWithoutVersion: [String] = []
    var unusedKeys: [Key] = []
    var defaultedKeys: [Key] = []
    var idleOperations: [String] = []
    var typesWithOtherFields: [String] = []
  }

  /// At most one element, so that a report without details is small.
  private var details: [Details] = []

  /// Keys of older records that no field took after the steps, in the order in which they were first met. A model without
  /// ``UnknownFields`` drops their values.
  public var unusedKeys: [Key] { details.first?.unusedKeys ?? [] }
  /// Fields that older records lacked after the steps, so that they took their defaults.
  public var defaultedKeys: [Key] { details.first?.defaultedKeys ?? [] }
  /// Operations of steps that found nothing to change, such as `Person 1 → 2: rename fullName to name`.
  public var idleOperations: [String] { details.first?.idleOperations ?? [] }
  /// The type of the root, if the archive has its current version with other fields, or with the fields in another
  /// order. The version was probably not raised.
  public var typesWithOtherFields: [String] { details.first?.typesWithOtherFields ?? [] }

  /// An empty report, for a decoder to fill.
  public init() {}

  /// Whether everything had the current versions.
  public var isEmpty: Bool { upgrades.isEmpty && details.isEmpty }

  package mutating func addUpgrade(of typeName: String, from: Int, to: Int) {
    add(Upgrade(typeName: typeName, fromVersion: from, toVersion: to, count: 1))
  }

  private mutating func add(_ upgrade: Upgrade) {
    if let place = upgrades.firstIndex(where: {
      $0.typeName == upgrade.typeName && $0.fromVersion == upgrade.fromVersion && $0.toVersion == upgrade.toVersion
    }) {
      upgrades[place].count += upgrade.count
    } else {
      upgrades.append(upgrade)
    }
  }

  /// Adds the report of the next part of the same file.
  mutating func add(_ next: DecodingReport) {
    for upgrade in next.upgrades { add(upgrade) }
    for line in next.typesWithoutVersion { add(line, \.typesWithoutVersion) }
    for line in next.unusedKeys { add(line, \.unusedKeys) }
    for line in next.defaultedKeys { add(line, \.defaultedKeys) }
    for line in next.idleOperations { add(line, \.idleOperations) }
    for line in next.typesWithOtherFields { add(line, \.typesWithOtherFields) }
  }

  mutating func addUnusedKey(_ key: String, typeName: String) {
    add(Key(typeName: typeName, key: key), \.unusedKeys)
  }

  mutating func addDefault(_ key: String, typeName: String) {
    add(Key(typeName: typeName, key: key), \.defaultedKeys)
  }

  mutating func addOtherFields(of typeName: String) { add(typeName, \.typesWithOtherFields) }

  mutating func addIdle(_ operation: MigrationOperation, of step: MigrationStep, typeName: String) {
    add("\(typeName) \(step.fromVersion) → \(step.toVersion): \(operation)", \.idleOperations)
  }

  /// Adds an element that is not present yet. A report has a bounded number of lines, whatever the bytes contain.
  private mutating func add<T: Equatable>(_ element: T, _ list: WritableKeyPath<Details, [T]>) {
    if details.isEmpty { details.append(Details()) }
    let known = details[0][keyPath: list]
    if known.count < 1000, !known.contains(element) { details[0][keyPath: list].append(element) }
  }

  /// Lines for the log of a debug build: keys that were dropped, defaults, and types with other fields.
  var noteworthy: [String] {
    unusedKeys.map { "no field takes \($0) of older data" }
      + defaultedKeys.map { "older data lacks \($0), which takes its default" }
      + typesWithOtherFields.map { "an archive has the same version of \($0) and other fields; raise the version" }
  }

  package mutating func addMissingVersion(of typeName: String) {
    add(typeName, \.typesWithoutVersion)
  }
}

extension DecodingReport.Upgrade: CustomStringConvertible {
  /// `Person 1 → 4, 1 object`
  public var description: String { "\(typeName) \(fromVersion) → \(toVersion), \(count.counting("object"))" }
}

extension DecodingReport: CustomStringConvertible {
  /// One line: the upgrades, the types without a version, and the extra and missing keys of older records.
  public var description: String {
    guard !isEmpty else { return "nothing was upgraded" }
    let missing =
      typesWithoutVersion.isEmpty ? [] : ["without a version: " + typesWithoutVersion.joined(separator: ", ")]
    func line(_ title: String, _ keys: [Key]) -> [String] {
      keys.isEmpty ? [] : [title + keys.map(\.description).joined(separator: ", ")]
    }
    let keys = line("no field takes ", unusedKeys) + line("defaults for ", defaultedKeys)
    let idle = idleOperations.map { "nothing to change: \($0)" }
    let others = typesWithOtherFields.map { "\($0) has the same version and other fields" }
    return (upgrades.map(\.description) + missing + keys + idle + others).joined(separator: "; ").onOneLine
  }
}
