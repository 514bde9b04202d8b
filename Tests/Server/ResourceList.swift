internal import Foundation
internal import StrataCore

/// An ordered list of records.
struct ResourceList: Sendable {
  /// The name of the list in paths.
  let name: String
  private(set) var records: [Resource] = []
  private var places: [ExactKey: Int] = [:]
  /// The greatest numeric id, including those of removed records, because ids are never reused.
  private var greatestNumber: Int64 = 0

  /// - Throws: ``ServeError`` if a value is not an object with a unique id.
  init(name: String, values: [ArchiveValue], modified: Date) throws {
    self.name = name
    for (place, value) in values.enumerated() {
      let record: Resource
      do { record = try Resource(value, modified: modified) } catch let problem as Problem {
        throw ServeError("at index \(place), \(problem.detail)")
      }
      if let earlier = places[ExactKey(record.id)] {
        throw ServeError("the records at the indices \(earlier) and \(place) have the same id; each needs its own")
      }
      append(record)
    }
  }

  var json: ArchiveValue { .array(records.map(\.json)) }

  subscript(id: String) -> Resource? { places[ExactKey(id)].map { records[$0] } }

  /// Whether all ids are integers and there has been at least one.
  private var hasNumbers: Bool {
    greatestNumber > 0 && records.allSatisfy { $0.json["id"]?.integer(as: Int64.self) != nil }
  }

  /// The id of a new record: the next number if all ids are numbers, otherwise the given text.
  func nextID(_ text: () -> String) -> ArchiveValue {
    let (next, isBeyond) = greatestNumber.addingReportingOverflow(1)
    return hasNumbers && !isBeyond ? .int(next) : .string(text())
  }

  /// The id that a text in a path denotes: a number if all ids are numbers, otherwise the text.
  func id(ofText text: String) -> ArchiveValue {
    guard hasNumbers, let number = Int64(text), String(number) == text else { return .string(text) }
    return .int(number)
  }

  /// Replaces the record with the same id, or appends the record.
  mutating func put(_ record: Resource) {
    guard let place = places[ExactKey(record.id)] else { return append(record) }
    records[place] = record
  }

  mutating func remove(_ id: String) {
    guard let place = places.removeValue(forKey: ExactKey(id)) else { return }
    records.remove(at: place)
    for later in place..<records.count { places[ExactKey(records[later].id)] = later }
  }

  private mutating func append(_ record: Resource) {
    places[ExactKey(record.id)] = records.count
    records.append(record)
    if let number = record.json["id"]?.integer(as: Int64.self) { greatestNumber = max(greatestNumber, number) }
  }
}
