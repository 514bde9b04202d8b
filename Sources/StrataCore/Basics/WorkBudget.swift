/// Limits the work that reading one file may cause. The budget counts the remaining values, the remaining bytes to which references may
/// expand, and the remaining processing steps.
///
/// All readers of a file share one budget and update it once for each container. A budget depends on the size of the file, because a small
/// file must not cause as much work as ``ArchiveLimits`` allows.
package final class WorkBudget {
  // The work that a file of any size may cause. It takes less than a second and a few hundred megabytes.
  static let freeValues = 1 << 22
  static let freeBytes = 1 << 26
  static let freeSteps = 1 << 26

  private let limits: ArchiveLimits
  // Swift's exclusive access check is disabled for all counters, because a check for each container would take longer than the counting
  // itself. Only the readers of one file change the counters.
  @exclusivity(unchecked) private var values: Int
  @exclusivity(unchecked) private var bytes: Int
  @exclusivity(unchecked) private var steps: Int
  /// The reserve for additional weights (see ``spend(weight:)``), which is the number of values that ``ArchiveLimits/maxWorkPerByte``
  /// allows beyond ``ArchiveLimits/values``. When the reserve is used up, additional weights reduce ``values``.
  @exclusivity(unchecked) private var weightsBeyond = Int.max
  private var knowsFile = false
  /// The state of the budget directly after the last call to ``begin(fileSize:)``.
  private var begun = (values: 0, bytes: 0, steps: 0, weightsBeyond: 0)
  /// The lowest value of ``weightsBeyond`` since the last call to ``begin(fileSize:)``. It is recorded before ``countAsSteps(since:)``
  /// increases ``weightsBeyond`` again.
  @exclusivity(unchecked) private var leastWeights = Int.max

  /// Creates a budget for input of unknown size. Only `limits` restrict the work.
  package init(_ limits: ArchiveLimits) {
    self.limits = limits
    values = max(0, limits.values)
    bytes = max(0, limits.expandedBytes)
    steps = max(0, limits.steps)
  }

  /// Creates a budget for a file of this size in bytes.
  package convenience init(_ limits: ArchiveLimits, fileSize: Int) {
    self.init(limits)
    begin(fileSize: fileSize)
  }

  /// Adds the work that is allowed for a file, or a member of a stream, with this size in bytes.
  ///
  /// The fixed allowance is added only once for each file. Otherwise many small members could cause more work than one large file.
  package func begin(fileSize: Int) {
    let ratio = max(1, limits.maxWorkPerByte)
    func allowed(_ rest: Int, _ free: Int, perByte: Int) -> Int {
      Self.sum(knowsFile ? min(max(0, rest), free) : free, Self.product(fileSize, perByte))
    }
    let allowedValues = allowed(values, Self.freeValues, perByte: ratio)
    values = min(max(0, limits.values), allowedValues)
    weightsBeyond = allowedValues - values
    let perByte = Self.bytes(forRatio: ratio)
    bytes = min(max(0, limits.expandedBytes), allowed(bytes, Self.freeBytes, perByte: perByte))
    steps = min(max(0, limits.steps), allowed(steps, Self.freeSteps, perByte: perByte))
    knowsFile = true
    begun = (values, bytes, steps, weightsBeyond)
    leastWeights = .max
  }

  /// Whether the work since ``begin(fileSize:)`` would have had the same result with `other` as the budget and would have left `other` in
  /// the same state as this budget. `other` must be in the state directly after ``begin(fileSize:)`` and must not allow more work than a
  /// new budget.
  func hasResult(of other: WorkBudget) -> Bool {
    (begun.values, begun.bytes, begun.steps) == (other.values, other.bytes, other.steps)
      && min(leastWeights, weightsBeyond) >= begun.weightsBeyond - other.weightsBeyond
  }

  /// Returns the number of steps that each byte of a file allows. References may expand to the same number of bytes for each byte of the
  /// file. `ratio` is ``ArchiveLimits/maxWorkPerByte``.
  static func bytes(forRatio ratio: Int) -> Int { product(ratio, 4) }

  /// Returns the number of values that a record definition counts as. A definition counts as several values, because it takes about as much
  /// memory as they do and stays in memory as long as any record that uses it.
  static func values(ofDefinition keyCount: Int) -> Int { 8 &+ 2 &* keyCount }

  // In an array, a value takes 16 bytes. A value that takes more memory has an additional weight, counted in values, which is also
  // subtracted from the budget. The total weight is limited only by the size of the file, because each byte of a file allows more values.
  //
  // A value that is written in full takes at least two bits, which allow 16 values, more than any additional weight. A value that is
  // repeated by reference can take less. For such values, encoders pad a small archive until its size allows twice the number of its
  // values, so the additional weight of a repeated value must not exceed the number of values that it counts as.

  /// The additional weight of a collection, which also counts as one value.
  static let ofCollection = 1
  /// The additional weight of a string that is numbered for later references.
  static let ofText = 4
  /// The additional weight of data that is numbered for later references.
  static let ofData = 11
  /// The additional weight of a parsed URL, and of a number or a UUID that several references share.
  static let ofShared = 14

  /// Subtracts the additional weight of values that take more than 16 bytes.
  @inline(__always)
  package func spend(weight count: Int) throws {
    weightsBeyond &-= count
    guard weightsBeyond < 0 else { return }
    values &+= weightsBeyond
    weightsBeyond = 0
    if values < 0 { throw exceeded(.values) }
  }

  /// The state of the budget before a record is read for the second time. ``countAsSteps(since:)`` compares the budget with this state.
  struct Mark { fileprivate let values, weightsBeyond: Int }

  var mark: Mark { Mark(values: values, weightsBeyond: weightsBeyond) }

  /// Gives back the values that were subtracted since the mark and subtracts the same number of steps instead. A record that is read for
  /// the second time is in the archive only once, so its values must be counted only once.
  func countAsSteps(since mark: Mark) throws {
    let count = mark.values &- values
    leastWeights = min(leastWeights, weightsBeyond)
    (values, weightsBeyond) = (mark.values, mark.weightsBeyond)
    try spend(steps: count)
  }

  /// Subtracts values that are about to be created.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if the budget is used up. All other `spend` methods throw an error with the
  ///   same code.
  @inline(__always)
  package func spend(values count: Int) throws {
    values &-= count
    if values < 0 { throw exceeded(.values) }
  }

  /// Subtracts bytes of text or data to which a reference expands.
  @inline(__always)
  package func spend(bytes count: Int) throws {
    bytes &-= count
    if bytes < 0 { throw exceeded(.expandedBytes) }
  }

  /// Subtracts steps. Each step hashes or compares one value, or 16 bytes of text or data.
  @inline(__always)
  package func spend(steps count: Int) throws {
    steps &-= count
    if steps < 0 { throw exceeded(.steps) }
  }

  /// Whether the budget allows this number of additional values.
  func allows(values count: Int) -> Bool { count <= values }

  /// Whether the budget allows references to expand to this number of additional bytes.
  func allows(bytes count: Int) -> Bool { count <= bytes }

  @inline(never)
  private func exceeded(_ limit: ArchiveLimits.Limit) -> ArchiveError {
    let name = limit.rawValue
    let ratio = limit == .values ? limits.maxWorkPerByte : Self.bytes(forRatio: limits.maxWorkPerByte)
    let hasRatio = knowsFile && ratio < .max
    let perByte = hasRatio ? " or \(ratio) for each byte of the file" : ""
    let remedy = hasRatio ? "raise \(name) or maxWorkPerByte" : "raise \(name)"
    let reason =
      switch limit {
      case .values:
        "the file expands to more than \(limits.values) values\(perByte); if you expect so many values, \(remedy)"
      case .expandedBytes:
        "references expand to more than \(limits.expandedBytes) bytes\(perByte); if you expect so many "
          + "bytes, \(remedy)"
      case .steps, .depth, .count, .stringLength, .inflatedSize, .inflationRatio, .outputSize:
        "reading the file takes more than \(limits.steps) steps\(perByte); if you expect so much work, "
          + "\(remedy)"
      }
    return ArchiveError(.limitExceeded, reason, limit: limit)
  }

  private static func product(_ left: Int, _ right: Int) -> Int {
    let (product, overflows) = max(0, left).multipliedReportingOverflow(by: max(0, right))
    return overflows ? .max : product
  }

  private static func sum(_ left: Int, _ right: Int) -> Int {
    let (sum, overflows) = left.addingReportingOverflow(right)
    return overflows ? .max : sum
  }
}
