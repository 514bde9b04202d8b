internal import StrataCore

// Inspecting an archive with malformed parts, which are kept unchanged while their errors are collected.

extension KeyedReader {
  /// Whether malformed objects are collected instead of thrown.
  var isLenient: Bool { contents.objectErrors != nil }

  /// Collects the error of an object, which becomes one of the graph.
  ///
  /// - Throws: the error, if the reader is strict or if the code is not `damaged`.
  mutating func note(_ error: any Error, of identity: Int) throws {
    let error = try collectable(error)
    let known = Int(marks[identity].number)
    let number = known >= 0 ? known : number(for: identity)
    if contents.objectErrors?[number] == nil { contents.objectErrors?[number] = error }
  }

  /// Adds a null object to the graph, for a reference without a target.
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

  /// The class name of the object that a frame decodes.
  func className(of frame: borrowing Frame) throws -> String {
    let reference = table.list.reference(at: frame.children + frame.classEntry * table.list.referenceSize)
    return try classes[table.target(reference).identity]?.name ?? ""
  }
}
