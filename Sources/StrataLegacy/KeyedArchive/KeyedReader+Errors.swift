internal import StrataCore

// Support for inspecting archives with malformed parts. Malformed parts are kept in their encoded form, and their
// errors are collected instead of thrown.

extension KeyedReader {
  /// Whether the errors of malformed objects are collected instead of thrown.
  var isLenient: Bool { contents.objectErrors != nil }

  /// Collects the error of a malformed object and adds the object to the graph, so that the error can be found by the
  /// object's number.
  ///
  /// - Throws: the error itself, if the reader does not collect errors or if the error's code is not `damaged`.
  mutating func note(_ error: any Error, of identity: Int) throws {
    let error = try collectable(error)
    let known = Int(marks[identity].number)
    let number = known >= 0 ? known : number(for: identity)
    if contents.objectErrors?[number] == nil { contents.objectErrors?[number] = error }
  }

  /// Replaces a reference to a missing object with a reference to a new null object in the graph, and collects the
  /// error.
  ///
  /// - Throws: the same errors as `note(_:of:)`.
  mutating func addNull(for error: any Error, to frame: inout Frame) throws {
    let error = try collectable(error)
    let number = contents.objects.count
    contents.objects.append(.null)
    contents.objectErrors?[number] = error
    add(.reference(number), to: &frame)
  }

  private func collectable(_ error: any Error) throws -> ArchiveError {
    guard isLenient, let error = error as? ArchiveError, error.code == .damaged else { throw error }
    return error
  }

  /// Returns the class name of the object that is being decoded in a frame, or an empty string if the class is unknown.
  func className(of frame: borrowing Frame) throws -> String {
    let reference = table.list.reference(at: frame.children + frame.classEntry * table.list.referenceSize)
    return try classes[table.target(reference).identity]?.name ?? ""
  }
}
