import Foundation
import StrataCore

/// What the golden archives of graphs are made of.
enum GoldenGraphs {
  final class Parent: DescribedModel {
    let name: String
    var children: [Child]
    var favourite: Child?

    init(name: String, children: [Child] = [], favourite: Child? = nil) {
      self.name = name
      self.children = children
      self.favourite = favourite
    }

    static let fields = Fields(
      Parent.self, name: "Parent", version: 1, Field("name", \.name), Field("children", \.children, default: []),
      Field("favourite", \.favourite), make: { Parent(name: $0, children: $1, favourite: $2) })
  }

  final class Child: DescribedModel {
    let name: String
    weak var parent: Parent?
    var sibling: Child?

    init(name: String, parent: Parent? = nil, sibling: Child? = nil) {
      self.name = name
      self.parent = parent
      self.sibling = sibling
    }

    static let fields = Fields(
      Child.self, name: "Child", version: 1, Field("name", \.name),
      Field("parent", \.parent, archive: .conditional), Field("sibling", \.sibling),
      make: { Child(name: $0, parent: $1, sibling: $2) })
  }

  /// References back and forth, shared ones, and a cycle.
  static func family() -> Parent {
    let parent = Parent(name: "Ada")
    let children = [Child(name: "Ben", parent: parent), Child(name: "Cleo", parent: parent)]
    (children[0].sibling, children[1].sibling) = (children[1], children[0])
    parent.children = children
    parent.favourite = children[1]
    return parent
  }

  /// A class with two superclasses, each with a version.
  static func hierarchy() -> ObjectGraph {
    var puppy = ModelRecord(
      typeName: "Puppy", modelVersion: 1,
      fields: [("weeks", 7), ("breed", "Pug"), ("friend", .reference(0)), ("name", "Bit")])
    puppy.superclasses = [.init(typeName: "Dog", modelVersion: 3), .init(typeName: "Animal", modelVersion: 2)]
    let friend = ModelRecord(typeName: "Animal", modelVersion: 2, fields: [("name", "Cat")])
    return ObjectGraph(objects: [.record(friend), .record(puppy)], root: .reference(1))
  }
}
