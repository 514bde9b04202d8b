import Foundation
import Strata

@Model(version: 1)
struct Contact: Equatable {
  let id: Int
  var name: String
  var mail: String?
  @Field(json: .none) var note = ""
  var address: PostalAddress?
}

@Model(version: 1)
struct PostalAddress: Equatable {
  var city: String
  var zip: String?
  var lines: [String: String] = [:]
  @Field(json: .none) var isChecked = false
}

@Model(version: 1)
enum Shipment: Equatable {
  case letter
  case box(weight: Int, note: String?, to: PostalAddress?)
}

@Model(version: 1)
struct Household: Equatable {
  var title = ""
  var address: PostalAddress?
  var owner: Contact?
  @Field(merge: .recursive) var byName: [String: Contact] = [:]
  var byNumber: [Int: PostalAddress] = [:]
  @Field(merge: .byID()) var members: [Contact] = []
  var guests: [Contact] = []
  var parcel: Shipment = .letter
  @Field(merge: .localWins) var nick = ""
  @Field(merge: .conflict) var motto = ""
  @Field(archive: .excluded) var cache = ""
  var ratios: [Double] = []
  var merging = MergeState()
  var unknownFields = UnknownFields()
}

/// The part of a household that another endpoint of the server returns.
@Model(version: 1)
struct HouseholdSummary: Equatable {
  var title: String
  var nick: String
  var owner: ContactSummary?
  var parcel: Shipment?
}

@Model(version: 1)
struct ContactSummary: Equatable {
  let id: Int
  var name: String
}

@Model(version: 1)
final class Crew {
  var name = ""
  var captain: Sailor?
  @Field(merge: .byID()) var sailors: [Sailor] = []
  @Field(archive: .conditional) var guest: Sailor?
  var merging = MergeState()
  init(name: String = "") { self.name = name }
}

@Model(version: 1)
class Sailor {
  let id: Int
  var name: String
  var mail: String?
  @Field(merge: .sumOfDeltas) var miles = 0
  @Field(merge: .localWins) var nick = ""
  var boss: Sailor?
  weak var crew: Crew?
  init(id: Int, name: String, mail: String? = nil, boss: Sailor? = nil) {
    (self.id, self.name, self.mail, self.boss) = (id, name, mail, boss)
  }
}

@Model(version: 1, superclass: Sailor.self)
final class Cook: Sailor {
  @Field(merge: .localWins) var dish = ""
  override init(id: Int, name: String, mail: String? = nil, boss: Sailor? = nil) {
    super.init(id: id, name: name, mail: mail, boss: boss)
  }
}

/// A link of a chain. It has no identity.
@Model(version: 1)
final class ChainPart {
  var text: String
  var next: ChainPart?
  init(text: String, next: ChainPart? = nil) { (self.text, self.next) = (text, next) }
}

extension Contact {
  init(_ id: Int, _ name: String, mail: String? = nil, note: String = "", address: PostalAddress? = nil) {
    self.init(id: id, name: name, mail: mail, note: note, address: address)
  }
}
