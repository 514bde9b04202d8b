import Foundation

/// The state shared by the readers of one decoding: options, limits, caches, and the report of upgrades.
public final class DecodingContext {
  // Swift's exclusive access check is disabled for the variables of this class. Only one reader at a time uses the context, and the checks
  // would cost more than reading a small body.
  package let limits: ArchiveLimits
  /// The remaining work budget, shared by all readers of the file.
  package let budget: WorkBudget
  /// Whether the records being read contain excluded fields, as they do in merges.
  package let includesExcluded: Bool
  /// The format of the input. In JSON, for example, dates, URLs and data are strings.
  package let source: DecodingSource
  /// Whether each record must have all keys of its version, because an encoder wrote the record. False if records can lack keys.
  @exclusivity(unchecked) package var readsCompleteRecords = false
  /// How decoded models are finished: whether hooks and validation rules run, and how failures are reported.
  let finishing: Finishing
  /// The first validation failure found in this decoding. Its path does not yet begin at the root, so
  /// ``checkFailures(of:)`` searches for all failures with their paths.
  @exclusivity(unchecked) var firstFailure: ArchiveError?
  /// Options that only one input format has, such as those for reading JSON; `nil` if there are none.
  @exclusivity(unchecked) package var options: (any AnyObject & Sendable)?
  /// Whether reading continues after an error, in order to find all errors.
  @exclusivity(unchecked) var collectsErrors = false
  /// Whether arrays that skip invalid elements also skip elements that break a validation rule, even if this context
  /// does not check rules itself.
  @exclusivity(unchecked) var triesRules = true
  @exclusivity(unchecked) package var report = DecodingReport()
  /// The version floors from the archive's header: for each type, the oldest model versions that may read and write its
  /// records.
  @exclusivity(unchecked) package var floors = StampFloors()
  /// The long strings and data stored outside a row's bytes; `nil` for an archive.
  @exclusivity(unchecked) package var row: RowContents?
  /// The objects of the graph that is currently being read.
  @exclusivity(unchecked) package var objects: ObjectTable?
  @exclusivity(unchecked) package var graph = GraphReading()
  /// Additional subclasses whose instances archives may contain where a superclass is declared.
  @exclusivity(unchecked) package var subclasses: [any VersionedModel.Type] = []
  /// Whether any decoded model stores a merge base (``MergeState``).
  @exclusivity(unchecked) var hasMergeBase = false
  @exclusivity(unchecked) private var ownCaches: DecodingCaches?

  /// The caches, created on first use, because most small bodies do not need any.
  private var caches: DecodingCaches {
    if let known = ownCaches { return known }
    let caches = DecodingCaches(budget)
    ownCaches = caches
    return caches
  }

  /// The digests used to detect duplicate set elements and map keys.
  var digests: ValueDigests { caches.digests }

  /// A fixed-size cache of the URLs parsed from a JSON text. A new URL replaces the previous URL in its slot.
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

  /// A new context for finding out whether a model can be decoded. A failure in this context does not affect the original one.
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

  /// Clears the cache of shared values before the next body. A stream can have any number of bodies, and the cache would otherwise keep
  /// growing.
  func forgetShared() {
    if let ownCaches, !ownCaches.shared.isEmpty { ownCaches.shared.removeAll(keepingCapacity: true) }
  }

  /// Converts an integer to an ``ArchiveValue``. Equal integers of more than 64 bits share memory.
  func shared(_ integer: WideInteger) throws -> ArchiveValue {
    let value = ArchiveValue(integer)
    guard case .wideInteger = value else { return value }
    return try shared(.integer(integer)) {
      try budget.spend(weight: WorkBudget.ofShared)
      return value
    }
  }

  /// Converts a UUID to an ``ArchiveValue``. Equal UUIDs share memory.
  func shared(_ uuid: UUID) -> ArchiveValue { shared(.uuid(uuid)) { .uuid(uuid) } }

  /// Returns the cached URL for a text. If there is none, calls the closure to create the URL.
  func sharedURL(_ text: String, _ base: String? = nil, _ make: () throws -> URL) throws -> URL {
    guard case .url(let url) = try shared(.url(ExactKey(text), base: base.map { ExactKey($0) }), { .url(try make()) })
    else { return try make() }
    return url
  }

  private func shared(_ key: DecodingCaches.SharedKey, _ make: () throws -> ArchiveValue) rethrows -> ArchiveValue {
    // Values of rows are not cached, because one context reads any number of rows and the cache would grow without
    // bound.
    if row != nil { return try make() }
    let caches = caches
    if let known = caches.shared[key] { return known }
    let value = try make()
    caches.shared[key] = value
    return value
  }

  /// Returns the classes of the objects that a graph with this root type may contain, by type name.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidSchema` if two of the classes have the same name.
  package func objectTypes<T: Archivable>(of type: T.Type) throws -> [String: any VersionedModel.Type] {
    if let known = caches.objectTypes, known.root == ObjectIdentifier(T.self) { return known.types }
    let types = try SchemaCatalog.objectTypes(of: T.self, and: subclasses)
    caches.objectTypes = (ObjectIdentifier(T.self), types)
    return types
  }

  /// Returns the schemas of a model, its nested models and all subclasses. The result is cached, because many objects
  /// need it.
  func catalog(of type: any VersionedModel.Type) -> SchemaCatalog {
    if let known = caches.catalogs[ObjectIdentifier(type)] { return known }
    let catalog = SchemaCatalog(of: type, and: subclasses)
    caches.catalogs[ObjectIdentifier(type)] = catalog
    return catalog
  }

  /// Advances the object count past a graph that has been read, to keep object numbers unique in the body.
  ///
  /// This is a method of the context, because the thread sanitizer build fails to compile the addition inside a reader.
  func passObjects(_ count: Int) { graph.sharedCount += count }

  /// Counts an object of the graph after it has been read. From now on, references with CBOR tag 29 may refer to the
  /// object.
  func passObject() { graph.passed? += 1 }

  /// Whether untyped objects are accepted in place of records, and arrays in place of sets. True for dictionaries and
  /// updates, which are written by hand.
  package var takesPlainObjects: Bool { source == .dictionary || source == .update }

  /// Returns, for each field of a schema, its index in records of the given shape; -1 if the records lack the field. The result is cached
  /// for later records.
  ///
  /// - Parameter age: the version of the records, compared with the version of the model. For older records, the report lists the keys that
  ///   no field uses and the fields that get their defaults. Records of the same version should have no undeclared keys, so the report
  ///   lists such keys together with the type.
  package func places(of schema: ModelSchema, in shape: RecordShape, age: RecordAge) -> [Int] {
    let caches = caches
    if let known = caches.placements.firstIndex(where: { $0.shape === shape && $0.schema === schema }) {
      return caches.placements[known].places
    }
    let places = schema.fields.map { field in
      shape.place(of: field.key) ?? field.formerly.lazy.compactMap { shape.place(of: $0) }.first ?? -1
    }
    switch age {
    case .older:
      for (field, place) in zip(schema.fields, places) where place < 0 && field.archive == .always {
        report.addDefault(field.key, typeName: schema.name)
      }
      for key in shape.keys where !schema.takenKeys.contains(ExactKey(key)) {
        report.addUnusedKey(key, typeName: schema.name)
      }
    // A model with a hook is not checked, because the hook can read any key.
    case .same where readsCompleteRecords && !schema.keepsUnknownFields && schema.hook == nil:
      for key in shape.keys where !schema.takenKeys.contains(ExactKey(key)) {
        report.addUnusedKey(key, typeName: schema.name)
        report.addOtherFields(of: schema.name)
      }
    case .same, .newer: break
    }
    // The size of the cache is limited, because an archive can contain any number of shapes.
    if caches.placements.count < 32 { caches.placements.append((schema, shape, places)) }
    return places
  }

  /// Reports associated values that the enum case does not declare, under keys such as `train.number`.
  func reportLabels(of payload: ArchiveObject, _ info: ModelSchema.CaseInfo, _ schema: ModelSchema, age: RecordAge) {
    guard readsCompleteRecords, age != .newer else { return }
    for entry in payload.entries where !info.takes(entry.key) {
      // Each key is added to the report only once, so that hostile data cannot cause many slow searches of the report.
      guard caches.reportedLabels.count < 1000,
        caches.reportedLabels.insert("\(schema.name).\(info.name).\(entry.key)").inserted
      else { continue }
      report.addUnusedKey("\(info.name).\(entry.key)", typeName: schema.name)
      if age == .same { report.addOtherFields(of: schema.name) }
    }
  }
}

/// The version of a record, compared with the version of its model.
package enum RecordAge {
  case older, same, newer

  /// A record is also older if it was written with an older version of one of the model's superclasses.
  init(_ record: ModelRecord, of schema: ModelSchema) {
    let version = record.modelVersion ?? 0
    let isOlder =
      version < schema.modelVersion
      || schema.superclasses.contains { superclass in
        record.shape.levels.contains { superclass.isNamed($0.typeName) && $0.modelVersion < superclass.modelVersion }
      }
    self = isOlder ? .older : version == schema.modelVersion ? .same : .newer
  }
}

/// The caches of one decoding context.
final class DecodingCaches {
  enum SharedKey: Hashable {
    case integer(WideInteger)
    case uuid(UUID)
    case url(ExactKey, base: ExactKey?)
  }

  let digests: ValueDigests
  /// A cache of large integers, UUIDs and URLs. Equal values in a body share memory.
  @exclusivity(unchecked) var shared: [SharedKey: ArchiveValue] = [:]
  /// The classes that graphs with the most recent root type can contain, by type name. Each model of a stream has its own graph, so the
  /// result of the search is cached.
  @exclusivity(unchecked) var objectTypes: (root: ObjectIdentifier, types: [String: any VersionedModel.Type])?
  @exclusivity(unchecked) var catalogs: [ObjectIdentifier: SchemaCatalog] = [:]
  /// For each combination of a schema and a record shape: the index of each field's value in records of this shape.
  @exclusivity(unchecked) var placements: [(schema: ModelSchema, shape: RecordShape, places: [Int])] = []
  @exclusivity(unchecked) var urls: [(text: String, url: URL)?] = []
  /// The keys of the undeclared associated values that have already been added to the report.
  var reportedLabels: Set<String> = []

  init(_ budget: WorkBudget) { digests = ValueDigests(budget) }
}

/// Which hooks and validation rules run after all fields of a model are set, and how failures are reported.
package enum Finishing: Sendable {
  /// No hooks or rules run. Used for intermediate results, such as those of a merge.
  case never
  /// The model's hook runs and its rules are checked. The first failure is thrown immediately.
  ///
  /// - Parameter keepsReplacements: whether the model keeps the values that rules substitute for invalid values.
  case atOnce(keepsReplacements: Bool = true)
  /// The model's hook runs and, if `validates` is true, its rules are checked. Decoding continues after a failure in
  /// order to find all failures. The caller must then call ``DecodingContext/checkFailures(of:)``.
  case gathering(validates: Bool)
}

extension DecodingContext {
  /// Whether the ``PostDecoding`` hooks of decoded models run.
  package var finishesModels: Bool { if case .never = finishing { false } else { true } }

  /// Whether the validation rules of decoded models are checked.
  package var validates: Bool {
    switch finishing {
    case .never: false
    case .atOnce: true
    case .gathering(let validates): validates
    }
  }

  /// Whether models keep the values that rules substitute for invalid values.
  package var keepsReplacements: Bool { if case .atOnce(let keeps) = finishing { keeps } else { true } }

  /// Whether decoding continues after an invalid object.
  var collectsFailures: Bool { if case .gathering = finishing { true } else { false } }
}

/// A report of one decoding: the types that were upgraded, and the assumptions made about older data.
public struct DecodingReport: Sendable, Hashable {
  /// The objects of one type that were upgraded from the same older version.
  public struct Upgrade: Sendable, Hashable {
    /// The registered name of the type.
    public let typeName: String
    /// The version of the model that wrote the objects.
    public let fromVersion: Int
    /// The version to which the objects were upgraded.
    public let toVersion: Int
    /// The number of objects that were upgraded.
    public var count: Int
  }

  /// The upgrades in the order in which they occurred.
  public private(set) var upgrades: [Upgrade] = []
  /// Types whose objects had no model version. Such objects are treated as version 0.
  public var typesWithoutVersion: [String] { details.first?.typesWithoutVersion ?? [] }

  /// A key in the records of a type.
  public struct Key: Sendable, Hashable, CustomStringConvertible {
    /// The registered name of the type.
    public let typeName: String
    /// The key in the record, after the migration steps.
    public let key: String

    /// The type name and the key, such as `Person.nick`.
    public var description: String { "\(typeName).\(key)" }
  }

  /// The parts of a report that are usually empty.
  private struct Details: Sendable, Hashable {
    var typesWithoutVersion: [String] = []
    var unusedKeys: [Key] = []
    var defaultedKeys: [Key] = []
    var idleOperations: [String] = []
    var typesWithOtherFields: [String] = []
    var typesWithUnknownCases: [String] = []
  }

  /// The parts of the report that are usually empty. They are stored in an array of at most one element, so that a report without them
  /// stays small.
  private var details: [Details] = []

  /// Keys that no field used after the migration steps, in the order of their first occurrence: keys of older records, and keys of records
  /// whose model was changed without a new version. The key of an associated value includes the case, as in `train.number`. A model without
  /// ``UnknownFields`` drops the values of these keys.
  public var unusedKeys: [Key] { details.first?.unusedKeys ?? [] }
  /// Fields that were set to their defaults, because older records lacked them after the migration steps.
  public var defaultedKeys: [Key] { details.first?.defaultedKeys ?? [] }
  /// Operations of migration steps that had nothing to change, such as `Person 1 → 2: rename fullName to name`.
  public var idleOperations: [String] { details.first?.idleOperations ?? [] }
  /// Types whose records have the current version but different fields. The most likely reason is that the fields were changed without
  /// raising the version. The root type is also listed if its fields are only in a different order. A nested type is listed if its records
  /// have a key that no field reads.
  public var typesWithOtherFields: [String] { details.first?.typesWithOtherFields ?? [] }
  /// Enums for which the data contained a case that this program does not know. The value became the enum's `unknownCase`, or the field got
  /// its default, or the element was skipped. If the model is saved, the unknown case is lost.
  public var typesWithUnknownCases: [String] { details.first?.typesWithUnknownCases ?? [] }

  /// Creates an empty report, to be passed to a decoder.
  public init() {}

  /// Whether the report has nothing to list, because all objects had their current versions.
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

  /// Adds the entries of a report about a later part of the same file, without duplicates.
  mutating func add(_ next: DecodingReport) {
    for upgrade in next.upgrades { add(upgrade) }
    for line in next.typesWithoutVersion { add(line, \.typesWithoutVersion) }
    for line in next.unusedKeys { add(line, \.unusedKeys) }
    for line in next.defaultedKeys { add(line, \.defaultedKeys) }
    for line in next.idleOperations { add(line, \.idleOperations) }
    for line in next.typesWithOtherFields { add(line, \.typesWithOtherFields) }
    for line in next.typesWithUnknownCases { add(line, \.typesWithUnknownCases) }
  }

  mutating func addUnusedKey(_ key: String, typeName: String) {
    add(Key(typeName: typeName, key: key), \.unusedKeys)
  }

  mutating func addDefault(_ key: String, typeName: String) {
    add(Key(typeName: typeName, key: key), \.defaultedKeys)
  }

  mutating func addOtherFields(of typeName: String) { add(typeName, \.typesWithOtherFields) }

  mutating func addUnknownCase(of typeName: String) { add(typeName, \.typesWithUnknownCases) }

  mutating func addIdle(_ operation: MigrationOperation, of step: MigrationStep, typeName: String) {
    add("\(typeName) \(step.fromVersion) → \(step.toVersion): \(operation)", \.idleOperations)
  }

  /// Adds an element unless the list already contains it. The list is limited to 1,000 elements, because hostile data could otherwise make
  /// the report grow without bound.
  private mutating func add<T: Equatable>(_ element: T, _ list: WritableKeyPath<Details, [T]>) {
    if details.isEmpty { details.append(Details()) }
    let known = details[0][keyPath: list]
    if known.count < 1000, !known.contains(element) { details[0][keyPath: list].append(element) }
  }

  /// The lines that a debug build writes to the log: dropped keys, fields that got their defaults, and types with
  /// different fields.
  var noteworthy: [String] {
    unusedKeys.map { "no field reads \($0)" }
      + defaultedKeys.map { "older data has no value for \($0), so the default is used" }
      + typesWithOtherFields.map {
        "an archive has the current version of \($0) but different fields; raise the version of the model"
      } + typesWithUnknownCases.map { "an archive has a case of \($0) that this program does not know" }
  }

  package mutating func addMissingVersion(of typeName: String) {
    add(typeName, \.typesWithoutVersion)
  }
}

extension DecodingReport.Upgrade: CustomStringConvertible {
  /// The type name, the versions and the number of objects, such as `Person 1 → 4, 1 object`.
  public var description: String { "\(typeName) \(fromVersion) → \(toVersion), \(count.counting("object"))" }
}

extension DecodingReport: CustomStringConvertible {
  /// A single line with the upgrades, the types without a version, and the unused and missing keys of older records.
  public var description: String {
    guard !isEmpty else { return "nothing was upgraded" }
    let missing =
      typesWithoutVersion.isEmpty ? [] : ["types without a version: " + typesWithoutVersion.joined(separator: ", ")]
    func line(_ title: String, _ keys: [Key]) -> [String] {
      keys.isEmpty ? [] : [title + keys.map(\.description).joined(separator: ", ")]
    }
    let keys = line("no field reads ", unusedKeys) + line("defaults for ", defaultedKeys)
    let idle = idleOperations.map { "an operation had no effect: \($0)" }
    let others = typesWithOtherFields.map { "the archive has the current version of \($0) but different fields" }
    let cases = typesWithUnknownCases.map { "the archive has an unknown case of \($0)" }
    return (upgrades.map(\.description) + missing + keys + idle + others + cases).joined(separator: "; ").onOneLine
  }
}
