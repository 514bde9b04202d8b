/// The objects that an object or value refers to directly, in the order in which they were found.
///
/// Copying, merging and comparing decompose an object but not the objects that it refers to. A copy, for example,
/// refers to the same objects as the original.
package final class ReferencedObjects {
  package private(set) var objects: [any VersionedModel] = []
  private var numbers: [ObjectIdentifier: Int] = [:]

  package init() {}

  /// Adds a model and returns its index in `objects`. A class instance that has already been added keeps its index. Structs and enums are
  /// always appended.
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
