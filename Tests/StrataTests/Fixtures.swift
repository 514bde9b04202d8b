import Foundation
import Strata
import StrataTestSupport

enum State: String, Archivable { case open, closed }

enum Priority: Int, Archivable { case low = 1, high = 5 }

struct Plain: Codable, Equatable {
  var text = "x"
  var numbers = [1, 2]
}

@Model(version: 1)
enum Payment: Equatable {
  case cash
  case card(number: String, expiry: Date?)
  case split(Int, Plain)
  case `default`(`in`: [State])
}

@Model(version: 1)
indirect enum Expression: Equatable {
  case number(Double)
  case sum(Expression, Expression)
  case list([Expression])
}

@Model(version: 2)
enum Direction: Equatable, Hashable {
  case up, down
  @Field(formerly: "sinister", "gauche") case left
}

@Model(version: 3, formerNames: ["Bug"])
struct Ticket: Equatable {
  let id: Int
  @Field(formerly: "headline", "subject", merge: .serverWins.ifPresent) var title: String?
  @Field(unknown: .useDefault) var state = State.open
  @Field(archive: .excluded) var retrievedAt = Date.distantPast
  private(set) var votes = 0
  var labels = [String]()
  var ratio = 0.5, isLocked = true
  var a, b: Int
  static let limit = 3
  var isOpen: Bool { state == .open }
  var unknownFields = UnknownFields()
  func describe() -> String { "\(id)" }
}
