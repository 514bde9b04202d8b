/// The objects that one object or value refers to directly, in the order in which they were found.
///
/// Decomposing an object for copying, merging or comparing must not decompose the objects that it refers to: a copy
/// refers to the same objects.
package final class ReferencedObjects {
  package private(set) var objects: [any VersionedModel] = []
  private var numbers: [ObjectIdentifier: Int] = [:]

  package init() {}

  /// Adds a model, whether it is an object or a value.
  func add(_ model: some VersionedModel) -> Int {
    if type(of: model).schema.isObject { return number(of: model) }
    objects.append(model)
    return objects.count - 1
  }

  package func number(of object: some VersionedModel) -> Int {
    let identity = object.identity
    if let number = numbers[identity] { return number }
    numbers[identity] = objects.count
    objects.append(object)
    return objects.count - 1
  }
}
