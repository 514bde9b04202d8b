internal import StrataCore

// Looking into an archive of which a part is not as it is written: that part stays what it is, and is noted.

extension KeyedReader {
  /// Whether what is odd is noted, instead of being an error.
  var isLenient: Bool { contents.oddities != nil }

  /// Notes what is odd about an object, which is one of the graph from then on.
  ///
  /// - Throws: the error, where the reader is strict, and where it is about a limit.
  mutating func note(_ error: any Error, of identity: Int) throws {
    let error = try oddity(error)
    let known = Int(marks[identity].number)
    let number = known >= 0 ? known : number(for: identity)
    if contents.oddities?[number] == nil { contents.oddities?[number] = error }
  }

  /// Adds an object of the graph that is null, for a reference that leads nowhere.
  ///
  /// - Throws: as `note(_:of:)`.
  mutating func addNothing(because error: any Error, to frame: inout Frame) throws {
    let error = try oddity(error)
    let number = contents.objects.count
    contents.objects.append(.null)
    contents.oddities?[number] = error
    add(.reference(number), to: &frame)
  }

  private func oddity(_ error: any Error) throws -> ArchiveError {
    guard isLenient, let error = error as? ArchiveError, error.code == .damaged else { throw error }
    return error
  }

  /// The name of the class of what a frame makes.
  func className(of frame: borrowing Frame) throws -> String {
    let reference = table.list.reference(at: frame.children + frame.classEntry * table.list.referenceSize)
    return try classes[table.target(reference).identity]?.name ?? ""
  }
}
