/// Counts the work that reading an archive body will cause. A writer updates the counts while it writes the body and rejects a body that
/// readers would reject.
struct ReadingCounts {
  private let limits: ArchiveLimits
  private var values = 0
  private var expandedBytes = 0
  private var largestCount = 0
  private var longestText = 0

  init(_ limits: ArchiveLimits) { self.limits = limits }

  mutating func reset() {
    (values, expandedBytes, largestCount, longestText) = (0, 0, 0, 0)
  }

  /// Adds the counts of a part of the body that was counted separately.
  mutating func add(_ part: ReadingCounts) {
    values &+= part.values
    expandedBytes &+= part.expandedBytes
    largestCount = max(largestCount, part.largestCount)
    longestText = max(longestText, part.longestText)
  }

  @inline(__always)
  mutating func addCollection(_ count: Int, valuesPerElement: Int = 1) {
    values &+= count &* valuesPerElement &+ 1
    if count > largestCount { largestCount = count }
  }

  /// Counts an element of an array whose length is not yet known.
  @inline(__always)
  mutating func addElement() { values &+= 1 }

  @inline(__always)
  mutating func addText(_ length: Int) { if length > longestText { longestText = length } }

  @inline(__always)
  mutating func addReference(_ length: Int) { expandedBytes &+= length }

  /// Counts a record definition that is written to the body together with its first record.
  mutating func addDefinition(_ shape: RecordShape) {
    values &+= WorkBudget.values(ofDefinition: shape.keys.count)
    expandedBytes &+= shape.keyBytes
  }

  /// Counts a record definition that is stored outside the body, as in a store.
  mutating func passDefinition(_ shape: RecordShape) {
    if shape.keys.count > largestCount { largestCount = shape.keys.count }
  }

  /// Counts a record that refers to an earlier definition. Its number of fields is not checked again, because the
  /// definition has been checked.
  @inline(__always)
  mutating func addRecord(_ count: Int, keyBytes: Int) {
    values &+= count &+ 1
    expandedBytes &+= keyBytes
  }

  /// The minimum file size in bytes at which readers accept the body. The calculation uses only half of the work that readers allow per
  /// byte, because readers count some values twice, such as values that a hook upgrades.
  var leastFileSize: Int {
    let ratio = max(1, limits.maxWorkPerByte / 2)
    return max(values / ratio, expandedBytes / WorkBudget.bytes(forRatio: ratio))
  }

  /// Throws `limitExceeded` if readers with the same limits would reject the body, apart from the limit on the work per
  /// byte.
  ///
  /// - Parameter bodySize: the size of the body in bytes.
  func check(bodySize: Int) throws(ArchiveError) {
    try check(bodySize, limits.inflatedSize, .inflatedSize)
    try check(largestCount, limits.count, .count)
    try check(longestText, limits.stringLength, .stringLength)
    try check(values, limits.values, .values)
    try check(expandedBytes, limits.expandedBytes, .expandedBytes)
  }

  /// Checks a body that is used without an archive file. Unlike an archive file, such a body cannot be padded to make readers allow more
  /// work.
  func checkAlone(bodySize: Int) throws(ArchiveError) {
    try check(bodySize: bodySize)
    if values <= WorkBudget.freeValues, expandedBytes <= WorkBudget.freeBytes { return }
    let budget = WorkBudget(limits, fileSize: bodySize)
    guard budget.allows(values: values), budget.allows(bytes: expandedBytes) else {
      throw ArchiveError(
        .limitExceeded,
        "the encoded value expands to more data than readers accept; write it to an archive, or raise maxWorkPerByte "
          + "for both writers and readers",
        limit: budget.allows(values: values) ? .expandedBytes : .values)
    }
  }

  private func check(_ found: Int, _ most: Int, _ limit: ArchiveLimits.Limit) throws(ArchiveError) {
    if found > most { throw Self.exceeded(most, limit) }
  }

  @inline(never)
  private static func exceeded(_ most: Int, _ limit: ArchiveLimits.Limit) -> ArchiveError {
    let name = limit.rawValue
    let reason =
      switch limit {
      case .inflatedSize:
        "the encoded value has more than \(most) bytes, which readers would reject; write a stream of smaller models, "
          + "or raise the limit \(name) for both writers and readers"
      case .count:
        "a collection has more than \(most) elements, which readers would reject; split the collection, or raise the "
          + "limit \(name) for both writers and readers"
      case .stringLength:
        "a string has more than \(most) bytes, which readers would reject; shorten the string, or raise the limit "
          + "\(name) for both writers and readers"
      case .values:
        "the encoded value contains more than \(most) values, which readers would reject; write a stream of smaller "
          + "models, or raise the limit \(name) for both writers and readers"
      default:
        "references expand to more than \(most) bytes, which readers would reject; write a stream of smaller models, "
          + "or raise the limit \(name) for both writers and readers"
      }
    return ArchiveError(.limitExceeded, reason, limit: limit)
  }
}
