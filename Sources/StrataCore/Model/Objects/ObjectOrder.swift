/// The objects of a graph in the order in which they are archived. Except in cycles, each object comes after the objects it refers to. A
/// reader therefore usually creates an object before the first reference to the object, and long lists need no recursion.
package final class ObjectOrder {
  /// The objects of the graph. The index of an object in this array is its number in the graph.
  package private(set) var objects: [any VersionedModel] = []
  private var numbers: [ObjectIdentifier: Int] = [:]
  /// The objects referenced by the value that is being searched, in the order of the references.
  private var found: [any VersionedModel] = []
  private(set) var isFinding = true
  /// The number of objects of this graph that have been written. A reference to an object not yet written is encoded as a forward
  /// reference.
  private var written = 0
  /// The object number of this graph's first object. It is greater than 0 if the body contains earlier graphs, because objects are numbered
  /// across all graphs of a body.
  private let first: Int

  private static let isOpen = -1

  /// A step of the depth-first search, which visits an object. If `isLeaving` is true, all objects that this object refers to have been
  /// visited, and the step assigns the object's number.
  private struct Step {
    let object: any VersionedModel
    var isLeaving = false
  }

  /// Finds all objects that a value refers to, directly or indirectly.
  ///
  /// - Throws: any error that encoding the value or an object throws.
  /// - Complexity: linear in the number of objects and references. Does not recurse over the graph.
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
        // Objects are not written where they are referenced, so the error's path begins at the failing object. The path from the root to
        // that object must be searched for and prepended.
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

  /// Writes a reference to an object. A reference to an object that has already been written has CBOR tag 29; any other reference is a
  /// forward reference.
  func write(_ object: some VersionedModel, to writer: inout ArchiveWriter) {
    if isFinding {
      found.append(object)
      return writer.writeNull()
    }
    guard let number = numbers[object.identity] else { return writer.writeNull() }
    writer.writeObjectReference(first + number, isWritten: number < written)
  }

  /// Writes the contents of all objects in the order of their numbers.
  func writeAll(to writer: inout ArchiveWriter) throws {
    for object in objects {
      writer.beginShared()
      try object.writeRecord(to: &writer)
      written += 1
    }
  }
}
