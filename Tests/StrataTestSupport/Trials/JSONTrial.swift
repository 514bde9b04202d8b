package import Foundation
import StrataCore

/// Checks any text: if it is valid, it must survive a round trip, and both ways to decode a model must agree.
package enum JSONTrial {
  package static func run(_ data: Data) throws {
    let value = try attempt { try JSONReader().read(data) }
    if let value {
      let text = try succeed("a value is written") { try JSONWriter().write(value) }
      try require(try attempt { try JSONReader().read(text) } == value, "a value comes back")
      try require(
        try attempt { try textFromArchive(value) } == text, "the archive's bytes give the same text")
    }
    var strict = JSONReader()
    strict.duplicateKeys = .refuse
    let unambiguous = try attempt { try strict.read(data) }

    let form = try attempt { try JSONReader().read(Form.self, from: data) }
    if let unambiguous {
      try require(try form == attempt { try Form(fromJSON: unambiguous) }, "both roads give the same model")
    }
    if let form {
      try require(value != nil, "a model comes of a value")
      let text = try succeed("a model is written") { try form.jsonData() }
      try require(try attempt { try Form(fromJSON: text) } == form, "a model comes back")
    }
    _ = try attempt { try JSONReader().read([String: [Int: [Double]]].self, from: data) }
    _ = try attempt { try JSONReader().read(Set<String>.self, from: data) }
  }

  /// Writes a value as JSON text directly from its archived form.
  private static func textFromArchive<T: Archivable>(_ value: T) throws -> Data { try JSONWriter().write(value) }

  /// Returns the result of `body`. Checks that an error about invalid JSON has a position.
  private static func attempt<T>(_ body: () throws -> T) throws -> T? {
    try Trial.attempt(body) { error in
      error.code != .invalidJSON || (error.byteOffset != nil && error.reason.hasPrefix("line "))
    }
  }
}
