internal import StrataCore

struct Label: Equatable {
  var name: String
  var id: Int64?
  var color: String?
  var description: String?
}

extension Label: DescribedModel {
  static let fields = Fields(
    Label.self, version: 1,
    Field("name", \.name),
    Field("id", \.id),
    Field("color", \.color),
    Field("description", \.description),
    make: { Label(name: $0, id: $1, color: $2, description: $3) })
}
