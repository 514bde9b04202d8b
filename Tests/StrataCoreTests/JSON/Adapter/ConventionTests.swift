import Foundation
import Strata
import Testing

@Model(version: 1)
private struct Ticket: Equatable {
  let ticketID: Int
  var openedAt = Date(timeIntervalSince1970: 0)
  var closedAt: Date?
  @Field(json: "meta.HTMLPage") var htmlPage: String?
  var reportedBy: Reporter?
  var allWatchers: [Reporter] = []
  var byTeam: [String: [Reporter]] = [:]
  var lastStep = Step.notStarted
}

@Model(version: 1)
private struct Reporter: Hashable {
  var fullName = ""
  @Field(json: .automatic.null(.useDefault)) var openTickets = 0
  var joinedOn: Date?
}

/// A model whose fields declare a path, a transformer, both or neither.
@Model(version: 1)
private struct Visit: Codable, Equatable {
  var startedAt = Date(timeIntervalSince1970: 0)
  var endedAt: Date?
  @Field(json: "seen.at") var seenAt: Date?
  @Field(json: .firstOf("paid", "paid_at")) var paidAt: Date?
  @Field(json: .readOnly("checked")) var checkedAt: Date?
  @Field(json: .path("day", .date(format: "yyyy-MM-dd"))) var day: Date?
  @Field(json: .automatic.transformed(by: .date(format: "yyyy"))) var foundedIn: Date?
  @Field(json: .none) var openedAt: Date?

  enum CodingKeys: String, CodingKey {
    case startedAt = "start", endedAt, seenAt, paidAt, checkedAt, day, foundedIn, openedAt
  }
}

@Model(version: 1)
private enum Step: Equatable {
  case notStarted
  case doneBy(fullName: String)
}

@Suite("JSON conventions for a model and its nested models")
struct ConventionTests {
  private static let text = """
    {"ticket_id":1,"opened_at":90.0,"closed_at":null,"meta":{"HTMLPage":"x"},\
    "reported_by":{"full_name":"Ann","open_tickets":2,"joined_on":60.0},\
    "all_watchers":[{"full_name":"Bob","open_tickets":0,"joined_on":null}],\
    "by_team":{"teamA":[{"full_name":"Cy","open_tickets":1,"joined_on":null}]},\
    "last_step":{"doneBy":{"fullName":"Ann"}}}
    """

  private let adapter: JSONAdapter<Ticket>

  init() throws {
    adapter = try JSONAdapter(
      convention: .snakeCase.transforming(by: ReversibleTransformer<Double, Date>.secondsSince1970))
  }

  @Test func readingAndWriting() throws {
    let ticket = try adapter.decode(Data(Self.text.utf8))
    #expect(ticket.reportedBy?.fullName == "Ann" && ticket.allWatchers.first?.fullName == "Bob")
    #expect(ticket.byTeam["teamA"]?.first?.openTickets == 1)
    #expect(ticket.openedAt == Date(timeIntervalSince1970: 90))
    #expect(ticket.reportedBy?.joinedOn == Date(timeIntervalSince1970: 60))
    #expect(ticket.htmlPage == "x" && ticket.lastStep == .doneBy(fullName: "Ann"))
    let written = try String(decoding: adapter.encode(ticket), as: UTF8.self)
    #expect(written == Self.text)
  }

  @Test("A field with a declared path keeps it and uses the convention's transformer")
  func declaredPaths() throws {
    let visits = try JSONAdapter<Visit>(
      convention: .snakeCase.transforming(by: ReversibleTransformer<Double, Date>.secondsSince1970))
    let text = """
      {"start":1.0,"ended_at":2.0,"seen":{"at":3.0},"paid":4.0,"checked":5.0,"day":"1970-01-07","founded_in":"1971"}
      """
    let visit = try visits.decode(Data(text.utf8))
    let dates = [
      visit.startedAt, visit.endedAt, visit.seenAt, visit.paidAt, visit.checkedAt, visit.day, visit.foundedIn,
    ]
    #expect(dates.map { $0?.timeIntervalSince1970 } == [1, 2, 3, 4, 5, 6 * 86_400, 365 * 86_400])
    let written = try String(decoding: visits.encode(visit), as: UTF8.self)
    #expect(written == text.replacing(#","checked":5.0"#, with: ""))
    #expect(try visits.decode(Data(text.replacing(#""paid":"#, with: #""paid_at":"#).utf8)) == visit)
  }

  @Test func whatAFieldSaysOfNullStays() throws {
    let ticket = try adapter.decode(Data(#"{"ticket_id": 1, "reported_by": {"open_tickets": null}}"#.utf8))
    #expect(ticket.reportedBy?.openTickets == 0)
  }

  @Test func merging() throws {
    var ticket = try adapter.decode(Data(Self.text.utf8))
    try adapter.merge(.json(Data(#"{"reported_by": {"open_tickets": 5}}"#.utf8)), into: &ticket)
    #expect(ticket.reportedBy == Reporter(fullName: "Ann", openTickets: 5, joinedOn: Date(timeIntervalSince1970: 60)))
  }

  @Test func aListAtTheRoot() throws {
    let list = try JSONAdapter<[Reporter]>(convention: .snakeCase)
    #expect(try list.decode(Data(#"[{"full_name": "Ann"}]"#.utf8)).map(\.fullName) == ["Ann"])
  }

  @Test func twoFieldsOnOneKeyAreAMistake() {
    #expect { try JSONAdapter<Ticket>(convention: JSONConvention { _ in "x" }) } throws: {
      ($0 as? ArchiveError)?.code == .invalidMapping
    }
  }
}
