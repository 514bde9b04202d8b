internal import StrataCore

// Support for inspecting an archive with malformed parts. These parts are kept unchanged, and their errors are
// collected.

extension KeyedReader {
  /// Whether the errors of malformed objects are collected instead of thrown.
  var isLenient: Bool { contents.objectErrors != nil }

  /// Collects the error of an object, and adds the object to the graph.
  ///
  /// - Throws: the error, if the reader does not collect errors or if the code is not `damaged`.
  mutating func note(_ error: any Error, of identity: Int) throws {
    let error = try collectable(error)
    let known = Int(marks[identity].number)
    let number = known >= 0 ? known : number(for: identity)
    if contents.objectErrors?[number] == nil { contents.objectErrors?[number] = error }
  }

  /// Adds a null object to the graph, in place of the missing target of a reference.
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

  /// Returns the class name of the object that a frame decodes.
  func className(of frame: borrowing Frame) throws -> String {
    let reference = table.list.reference(at: frame.children + frame.classEntry * table.list.referenceSize)
    return try classes[table.target(reference).identity]?.name ?? ""
  }
}
