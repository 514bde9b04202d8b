/// The work that reading one file may still do: values made, bytes that references stand for, and steps.
///
/// All readers of one file share one budget and count where the work is done, by container and not by byte. What a
/// limit of ``ArchiveLimits`` allows is lowered by the size of the file, so that a small one cannot ask for much.
package final class WorkBudget {
  // Small files may do so much whatever their size, which takes less than a second and a few hundred megabytes.
  static let freeValues = 1 << 22
  static let freeBytes = 1 << 26
  static let freeSteps = 1 << 26

  private let limits: ArchiveLimits
  // Only their own reader counts, and checking that at each container would cost more than counting.
  @exclusivity(unchecked) private var values: Int
  @exclusivity(unchecked) private var bytes: Int
  @exclusivity(unchecked) private var steps: Int
  /// By how many values the ratio allows more than ``ArchiveLimits/values``, which weights may use.
  @exclusivity(unchecked) private var weightsBeyond = Int.max
  private var knowsFile = false
  /// What ``begin(fileSize:)`` allowed last.
  private var begun = (values: 0, bytes: 0, steps: 0, weightsBeyond: 0)
  /// The least that ``weightsBeyond`` was before values were counted as steps, since then.
  @exclusivity(unchecked) private var leastWeights = Int.max

  /// A budget for input of unknown size, which only the limits bound.
  package init(_ limits: ArchiveLimits) {
    self.limits = limits
    values = max(0, limits.values)
    bytes = max(0, limits.expandedBytes)
    steps = max(0, limits.steps)
  }

  /// A budget for a file of this size.
  package convenience init(_ limits: ArchiveLimits, fileSize: Int) {
    self.init(limits)
    begin(fileSize: fileSize)
  }

  /// Allows what the given number of further bytes of input may do: a file, or the next member of a stream.
  ///
  /// What is allowed whatever the size is allowed once, so that many small members cannot do more than one large file.
  package func begin(fileSize: Int) {
    let values = knowsFile ? min(max(0, self.values), Self.freeValues) : Self.freeValues
    let bytes = knowsFile ? min(max(0, self.bytes), Self.freeBytes) : Self.freeBytes
    let steps = knowsFile ? min(max(0, self.steps), Self.freeSteps) : Self.freeSteps
    let ratio = max(1, limits.maxWorkPerByte)
    let allowed = Self.sum(values, Self.product(fileSize, ratio))
    self.values = min(max(0, limits.values), allowed)
    weightsBeyond = allowed - self.values
    self.bytes = min(max(0, limits.expandedBytes), Self.sum(bytes, Self.product(fileSize, Self.bytes(forRatio: ratio))))
    self.steps = min(max(0, limits.steps), Self.sum(steps, Self.product(fileSize, Self.bytes(forRatio: ratio))))
    knowsFile = true
    begun = (self.values, self.bytes, self.steps, weightsBeyond)
    leastWeights = .max
  }

  /// Whether the work since ``begin(fileSize:)`` would have had the same result in another budget, which has just begun and of which
  /// no more is left than of a new one. That budget would then be as this one is now.
  func hasResult(of other: WorkBudget) -> Bool {
    (begun.values, begun.bytes, begun.steps) == (other.values, other.bytes, other.steps)
      && min(leastWeights, weightsBeyond) >= begun.weightsBeyond - other.weightsBeyond
  }

  /// How many bytes that references stand for, or steps, each byte of a file may cause.
  static func bytes(forRatio ratio: Int) -> Int { product(ratio, 4) }

  /// What a record definition counts: it takes the memory of many values, and lives as long as a record has it.
  static func values(ofDefinition keyCount: Int) -> Int { 8 &+ 2 &* keyCount }

  // A value takes 16 bytes in an array. What takes more weighs as several values, which only the size of the file limits.
  // Every archive that a writer pads has room for its values twice, so what may repeat weighs at most as much as its values.
  // What an encoder writes once takes two bits or more of the file each time, which is room for 16 values.

  /// The weight of a collection beside its values and itself.
  static let ofCollection = 1
  /// The weight of a string that gets a number.
  static let ofText = 4
  /// The weight of data that gets a number.
  static let ofData = 11
  /// The weight of a URL that is parsed, and of a number or UUID that others share.
  static let ofShared = 14

  /// Counts what values take beside the values themselves.
  @inline(__always)
  package func spend(weight count: Int) throws {
    weightsBeyond &-= count
    guard weightsBeyond < 0 else { return }
    values &+= weightsBeyond
    weightsBeyond = 0
    if values < 0 { throw exceeded(.values) }
  }

  /// The budget before a reader reads a record again.
  struct Mark { fileprivate let values, weightsBeyond: Int }

  var mark: Mark { Mark(values: values, weightsBeyond: weightsBeyond) }

  /// Takes back the values that were counted since a mark, which the archive holds once, and counts them as steps.
  func countAsSteps(since mark: Mark) throws {
    let count = mark.values &- values
    leastWeights = min(leastWeights, weightsBeyond)
    (values, weightsBeyond) = (mark.values, mark.weightsBeyond)
    try spend(steps: count)
  }

  /// Counts values that are about to be made.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded`, as the other methods.
  @inline(__always)
  package func spend(values count: Int) throws {
    values &-= count
    if values < 0 { throw exceeded(.values) }
  }

  /// Counts bytes of text or data that a reference stands for.
  @inline(__always)
  package func spend(bytes count: Int) throws {
    bytes &-= count
    if bytes < 0 { throw exceeded(.expandedBytes) }
  }

  /// Counts steps: values or words that are looked at once more.
  @inline(__always)
  package func spend(steps count: Int) throws {
    steps &-= count
    if steps < 0 { throw exceeded(.steps) }
  }

  /// Whether this number of values may still be made.
  func allows(values count: Int) -> Bool { count <= values }

  /// Whether references may still stand for this number of bytes.
  func allows(bytes count: Int) -> Bool { count <= bytes }

  @inline(never)
  private func exceeded(_ limit: ArchiveLimits.Limit) -> ArchiveError {
    let (what, most, ratio) =
      switch limit {
      case .values: ("the file makes more values", limits.values, limits.maxWorkPerByte)
      case .expandedBytes:
        (
          "references stand for more bytes of text and data", limits.expandedBytes,
          Self.bytes(forRatio: limits.maxWorkPerByte)
        )
      default: ("reading takes more steps of work", limits.steps, Self.bytes(forRatio: limits.maxWorkPerByte))
      }
    let hasRatio = knowsFile && ratio < .max
    let perByte = hasRatio ? ", or than \(ratio) for each byte of the file" : ""
    let orRatio = hasRatio ? " or maxWorkPerByte" : ""
    return ArchiveError(
      .limitExceeded,
      "\(what) than the limit of \(most)\(perByte); raise the limit \(limit.rawValue)\(orRatio) if that is right",
      limit: limit)
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
