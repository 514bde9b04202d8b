/// The objects of a graph in the order in which an archive holds them: each after those that it refers to, as far as
/// cycles allow. So a reader has made an object before anything needs it, and no list is too long for the stack.
package final class ObjectOrder {
  private enum Mode { case finding, writing }

  /// The objects, by number.
  package private(set) var objects: [any VersionedModel] = []
  private var numbers: [ObjectIdentifier: Int] = [:]
  /// The objects that the value written last refers to.
  private var found: [any VersionedModel] = []
  private var mode = Mode.finding
  /// How many objects are already written.
  private var written = 0
  /// What the number of the first object is, in a body that holds other graphs before this one.
  private let first: Int

  private static let isOpen = -1

  /// An object to look at, or one to number because all that it refers to is.
  private struct Step {
    let object: any VersionedModel
    var isLeaving = false
  }

  /// Finds every object that a value refers to, however far away.
  ///
  /// - Throws: what the encoding of a value throws.
  /// - Complexity: linear in the number of objects and references. The stack does not grow with the graph.
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
        // Objects do not stand where they are used, so the way to this one is looked for.
        throw ObjectPath.find(step.object, from: value).reversed().reduce(ArchiveError.wrap(error)) {
          ArchiveError.at($1, $0)
        }
      }
      step.isLeaving = true
      steps.append(step)
      for child in found.reversed() where numbers[child.identity] == nil { steps.append(Step(object: child)) }
    }
    found = []
    mode = .writing
  }

  /// Writes what stands for an object: a reference to one that is already written (tag 29), else to one that follows.
  func write(_ object: some VersionedModel, to writer: inout ArchiveWriter) {
    guard mode == .writing else {
      found.append(object)
      return writer.writeNull()
    }
    guard let number = numbers[object.identity] else { return writer.writeNull() }
    writer.writeObjectReference(first + number, isWritten: number < written)
  }

  var isFinding: Bool { mode == .finding }

  /// Writes the objects.
  func writeAll(to writer: inout ArchiveWriter) throws {
    for object in objects {
      writer.beginShared()
      try object.writeRecord(to: &writer)
      written += 1
    }
  }
}
