import Foundation
import StrataCore

extension Runner {
  /// Compares JSON text with Foundation: decoding and encoding models and untyped values.
  func compareJSON(_ tweets: [Tweet]) throws {
    guard
      ["decoder", "decoder-dates", "write", "value", "print", "detour"].contains(where: { wants("json/" + $0) })
    else { return }
    let text = try Corpus.page()
    let reader = JSONReader()
    let writer = JSONWriter()
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601

    let page = try reader.read(Page.self, from: text)
    let value = try reader.read(text)
    guard try decoder.decode(Page.self, from: text) == page, try Page(fromJSON: value) == page,
      page.statuses.count == 100
    else { throw Failure("both sides must read the same page") }
    try time("json/decoder") {
      consume(try reader.read(Page.self, from: text))
    } theirs: {
      consume(try decoder.decode(Page.self, from: text))
    }
    try time("json/detour") {
      consume(try reader.read(Page.self, from: text))
    } theirs: {
      consume(try Page(fromJSON: reader.read(text)))
    }

    let ours = try writer.write(tweets)
    let theirs = try encoder.encode(tweets)
    guard try reader.read([Tweet].self, from: ours) == tweets, try decoder.decode([Tweet].self, from: ours) == tweets,
      try reader.read([Tweet].self, from: theirs) == tweets,
      try Self.withoutNulls(reader.read(ours)) == Self.withoutNulls(reader.read(theirs))
    else { throw Failure("both sides must write the same content") }
    try time("json/decoder-dates") {
      consume(try reader.read([Tweet].self, from: ours))
    } theirs: {
      consume(try decoder.decode([Tweet].self, from: ours))
    }
    try time("json/write") {
      consume(try writer.write(tweets))
    } theirs: {
      consume(try encoder.encode(tweets))
    }

    let objects = try JSONSerialization.jsonObject(with: text)
    guard try reader.read(JSONSerialization.data(withJSONObject: objects)) == value,
      try reader.read(writer.write(value)) == value
    else { throw Failure("both sides must read the same values") }
    try time("json/value") {
      consume(try reader.read(text))
    } theirs: {
      consume(try JSONSerialization.jsonObject(with: text))
    }
    try time("json/print") {
      consume(try writer.write(value))
    } theirs: {
      consume(try JSONSerialization.data(withJSONObject: objects))
    }
  }

  /// Returns the value without nulls, because JSONEncoder omits nil, while Strata writes it as null.
  private static func withoutNulls(_ value: ArchiveValue) -> ArchiveValue {
    switch value {
    case .array(let elements): .array(elements.map(withoutNulls))
    case .object(let object):
      .object(
        ArchiveObject(
          object.entries.filter { !$0.value.isNull }.map {
            ArchiveObject.Entry(key: $0.key, value: withoutNulls($0.value))
          }))
    default: value
    }
  }
}
