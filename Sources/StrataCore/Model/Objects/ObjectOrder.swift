/// The objects of a graph in the order of an archive: each after the objects that it refers to, except in cycles. So a
/// reader has created an object before anything needs it, and long lists need no recursion.
package final class ObjectOrder {
  /// The objects, by number.
  package private(set) var objects: [any VersionedModel] = []
  private var numbers: [ObjectIdentifier: Int] = [:]
  /// The objects that the last written value refers to.
  private var found: [any VersionedModel] = []
  private(set) var isFinding = true
  /// The number of objects that are already written.
  private var written = 0
  /// The number of the first object, in a body that contains other graphs before this one.
  private let first: Int

  private static let isOpen = -1

  /// An object to visit, or one to number after all objects that it refers to.
  private struct Step {
    let object: any VersionedModel
    var isLeaving = false
  }

  /// Finds every object that a value refers to, directly or indirectly.
  ///
  /// - Throws: the errors of encoding a value.
  /// - Complexity: linear in the number of objects and references. Does not use recursion over the graph.
  package init<T: Archivable>(of value: T, first: Int, limits: ArchiveLimits) throws {
    self.first = first
    var scratch = ArchiveWriter(limits: limits, usesReferences: false)
    scratch.objects = .order(self)
    try value.write(to: &scratch)
    var steps = found.reversed().map { Step(object: $0) }
    while var step = steps.popLast() {
      let identity = step.object.identity
      if step.isLeaving {
        numbers[identity] = objects.count
        objects.append(step.object)
        continue
      }
      guard numbers[identity] == nil else { continue }
      numbers[identity] = Self.isOpen
      found.removeAll(keepingCapacity: true)
      scratch.buffer.removeAll()
      do { try step.object.writeRecord(to: &scratch) } catch {
        // Objects are not written where they are used, so the path to this one is searched.
        throw ObjectPath.find(step.object, from: value).reversed().reduce(ArchiveError.wrap(error)) {
          ArchiveError.at($1, $0)
        }
      }
      step.isLeaving = true
      steps.append(step)
      for child in found.reversed() where numbers[child.identity] == nil { steps.append(Step(object: child)) }
    }
    found = []
    isFinding = false
  }

  /// Writes a reference to an object: tag 29 if the object is already written, otherwise a forward reference.
  func write(_ object: some VersionedModel, to writer: inout ArchiveWriter) {
    if isFinding {
      found.append(object)
      return writer.writeNull()
    }
    guard let number = numbers[object.identity] else { return writer.writeNull() }
    writer.writeObjectReference(first + number, isWritten: number < written)
  }

  /// Writes the objects.
  func writeAll(to writer: inout ArchiveWriter) throws {
    for object in objects {
      writer.beginShared()
      try object.writeRecord(to: &writer)
      written += 1
    }
  }
}
