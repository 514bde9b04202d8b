/// Puts a value in its place in nested values and objects.
struct PathEditor {
  /// The fields of an object.
  let record: (Int) throws -> ModelRecord
  /// The new fields of objects on the way.
  var updates: [Int: ModelRecord] = [:]

  init(_ record: @escaping (Int) throws -> ModelRecord) { self.record = record }

  static var lost: ArchiveError {
    ArchiveError(.mergeFailed, "the path of the conflict no longer leads to a value")
  }

  /// - Parameter path: the rest of the way.
  mutating func set(_ new: ArchiveValue?, at path: ArraySlice<MergePath.Component>, in value: ArchiveValue?) throws
    -> ArchiveValue?
  {
    guard let step = path.first else { return new }
    if case .reference(let number)? = value {
      let fields = try updates[number] ?? record(number)
      guard case .record(let edited)? = try set(new, at: path, in: .record(fields)) else { throw Self.lost }
      updates[number] = edited
      return value
    }
    switch (step, value) {
    case (.key(let key), .record(var record)?):
      record[key] = try set(new, at: path.dropFirst(), in: record[key])
      return .record(record)
    case (.key(let key), .object(var object)?):
      object[key] = try set(new, at: path.dropFirst(), in: object[key])
      return .object(object)
    case (.value(let key), .map(var entries)?):
      let place = entries.firstIndex { $0.key == key }
      let edited = try set(new, at: path.dropFirst(), in: place.map { entries[$0].value })
      if let place { entries.remove(at: place) }
      if let edited { entries.insert(.init(key: key, value: edited), at: place ?? entries.count) }
      return .map(entries)
    case (_, .array(let elements)?): return .array(try set(new, step, path, in: elements))
    case (_, .set(let elements)?): return .set(try set(new, step, path, in: elements))
    default: throw Self.lost
    }
  }

  private mutating func set(
    _ new: ArchiveValue?, _ step: MergePath.Component, _ path: ArraySlice<MergePath.Component>,
    in elements: [ArchiveValue]
  ) throws -> [ArchiveValue] {
    var elements = elements
    var place: Int?
    if case .index(let index) = step {
      guard elements.indices.contains(index) else { throw Self.lost }
      place = index
    } else {
      place = try elements.firstIndex { try matches($0, step) }
    }
    let edited = try set(new, at: path.dropFirst(), in: place.map { elements[$0] })
    switch (place, edited) {
    case (let place?, let edited?): elements[place] = edited
    case (let place?, nil): elements.remove(at: place)
    case (nil, let edited?):
      guard path.count == 1 else { throw Self.lost }
      elements.append(edited)
    case (nil, nil): break
    }
    return elements
  }

  private func matches(_ element: ArchiveValue, _ step: MergePath.Component) throws -> Bool {
    var opened = element
    if case .reference(let number) = element { opened = .record(try updates[number] ?? record(number)) }
    return switch step {
    case .element(let key, let id): opened[key] == id
    case .value(let content): opened == content
    default: false
    }
  }
}
