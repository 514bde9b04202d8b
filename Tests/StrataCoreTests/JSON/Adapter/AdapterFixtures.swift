import Foundation
import Strata

func json(_ text: String) throws -> ArchiveValue { try JSONReader().read(Data(text.utf8)) }

func text(_ value: ArchiveValue) throws -> String { String(decoding: try JSONWriter().write(value), as: UTF8.self) }

/// A person with a simple mapping: a renamed key, a nested path and a number that is text in JSON.
@Model(version: 1)
struct Member: Equatable {
  @Field(json: "username") var name: String?
  @Field(json: .path("count", .digits)) var count = 1
  @Field(json: "nested.name") var nestedName: String?
  @Field(json: .none) var cache: [String] = ["fresh"]
}

extension ReversibleTransformer where Input == String, Output == Int {
  /// A number that is text in JSON.
  static var digits: Self {
    Self(
      { text in
        guard let number = Int(text) else { throw TransformError("the text is no number", input: text) }
        return number
      }, reverse: { String($0) })
  }
}

/// A coordinate that is read from two paths.
struct Coordinate: Equatable, Sendable, Codable {
  var latitude: Double
  var longitude: Double
}

@Model(version: 1)
struct Spot: Equatable {
  var name: String
  @Field(json: .paths("at.lat", "at.lng", by: .span)) var span: Span?
}

@Model(version: 1)
struct Span: Equatable, Sendable {
  var latitude: Double?
  var longitude: Double?
}

extension ReversibleTransformer where Input == [ValuePath: ArchiveValue], Output == Span {
  static var span: Self {
    Self(
      { Span(latitude: $0["at.lat"]?.doubleValue, longitude: $0["at.lng"]?.doubleValue) },
      reverse: { span in
        var values: [ValuePath: ArchiveValue] = [:]
        if let latitude = span.latitude { values["at.lat"] = .double(latitude) }
        if let longitude = span.longitude { values["at.lng"] = .double(longitude) }
        return values
      })
  }
}

@Model(version: 1)
final class Group {
  var name: String
  var owner: Friend?

  init(name: String, owner: Friend?) {
    self.name = name
    self.owner = owner
  }
}

@Model(version: 1)
struct Friend {
  @Field(json: "login") var name: String
  var groups: [Group] = []
}

@Model(version: 1)
struct Exact: Equatable {
  var text: String?
  var flag: Bool?
  var number: Int?
  var small: Int8?
  var unsigned: UInt64?
  var ratio: Double?
  var anything: ArchiveValue?
}
