internal import Foundation
internal import StrataCore

struct Milestone: Equatable {
  var number: Int
  var title: String
  var state: IssueState
  var dueOn: Date?
}

extension Milestone: DescribedModel {
  static let fields = Fields(
    Milestone.self, version: 1,
    Field("number", \.number),
    Field("title", \.title),
    Field("state", \.state, default: .unknown),
    Field("due_on", \.dueOn),
    make: { Milestone(number: $0, title: $1, state: $2, dueOn: $3) })
}
