internal import Foundation
internal import StrataCore

struct User: Equatable {
  var login: String
  var id: Int64?
  var kind: String?
  var avatar: URL?
  var page: URL?
}

extension User: DescribedModel {
  static let fields = Fields(
    User.self, version: 1,
    Field("login", \.login),
    Field("id", \.id),
    Field("type", \.kind),
    Field("avatar_url", \.avatar),
    Field("html_url", \.page),
    make: { User(login: $0, id: $1, kind: $2, avatar: $3, page: $4) })
}
