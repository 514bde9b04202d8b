import Foundation
import StrataCore

/// The objects in the golden archives of graphs.
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

  /// A graph with references in both directions, shared objects and a cycle.
  static func family() -> Parent {
    let parent = Parent(name: "Ada")
    let children = [Child(name: "Ben", parent: parent), Child(name: "Cleo", parent: parent)]
    (children[0].sibling, children[1].sibling) = (children[1], children[0])
    parent.children = children
    parent.favourite = children[1]
    return parent
  }

  final class Club: DescribedModel {
    var members: Set<Member>
    var years: [Int: Member]

    init(members: Set<Member> = [], years: [Int: Member] = [:]) {
      self.members = members
      self.years = years
    }

    static let fields = Fields(
      Club.self, name: "Club", version: 1, Field("members", \.members, default: []),
      Field("years", \.years, default: [:]), make: { Club(members: $0, years: $1) })
  }

  final class Member: DescribedModel, Hashable {
    let name: String
    var mentor: Member?
    weak var club: Club?

    init(name: String, mentor: Member? = nil, club: Club? = nil) {
      self.name = name
      self.mentor = mentor
      self.club = club
    }

    static let fields = Fields(
      Member.self, name: "Member", version: 1, Field("name", \.name), Field("mentor", \.mentor),
      Field("club", \.club, archive: .conditional), make: { Member(name: $0, mentor: $1, club: $2) })

    static func == (left: Member, right: Member) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }

  /// A set of objects that differ only in their references, and a dictionary that refers to some of them.
  static func club() -> Club {
    let (ada, ben) = (Member(name: "Ada"), Member(name: "Ben"))
    let club = Club()
    let alone = Member(name: "Kim", club: club)
    let members = [
      alone, Member(name: "Kim", mentor: ben, club: club), Member(name: "Kim", mentor: ada, club: club),
      Member(name: "Kim", mentor: alone, club: club),
    ]
    ada.mentor = members[3]
    club.members = Set(members)
    club.years = [300: ben, 2001: ada, -1: members[1], 7: alone]
    return club
  }

  /// An object of the `Puppy` class, whose superclasses are `Dog` and `Animal`. Each class has its own version.
  static func hierarchy() -> ObjectGraph {
    var puppy = ModelRecord(
      typeName: "Puppy", modelVersion: 1,
      fields: [("weeks", 7), ("breed", "Pug"), ("friend", .reference(0)), ("name", "Bit")])
    puppy.superclasses = [.init(typeName: "Dog", modelVersion: 3), .init(typeName: "Animal", modelVersion: 2)]
    let friend = ModelRecord(typeName: "Animal", modelVersion: 2, fields: [("name", "Cat")])
    return ObjectGraph(objects: [.record(friend), .record(puppy)], root: .reference(1))
  }
}
