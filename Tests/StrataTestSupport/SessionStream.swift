package import Foundation
package import StrataCore

/// A stream to which tests append a few sessions, with operations on its file.
package struct SessionStream {
  package let folder: URL
  package let url: URL

  private init(in folder: URL) {
    self.folder = folder
    url = folder.appending(path: "stream.strata")
  }

  package static func with<R>(_ body: (SessionStream) throws -> R) throws -> R {
    try withFolder { try body(SessionStream(in: $0)) }
  }

  package static func with<R>(_ body: (SessionStream) async throws -> R) async throws -> R {
    try await withFolder { try await body(SessionStream(in: $0)) }
  }

  package static func model(_ number: Int) -> Address { Address(street: "Street \(number)", country: "C\(number % 7)") }

  /// Writes a session of models, one for each number in a range.
  package func session(_ range: Range<Int>, recovering: Bool = false) throws {
    let isNew = !FileManager.default.fileExists(atPath: url.path)
    var writer =
      try isNew
      ? ArchiveStreamWriter<Address>(creating: url) : ArchiveStreamWriter(appendingTo: url, recovering: recovering)
    for number in range { try writer.append(Self.model(number)) }
    try writer.finish()
  }

  /// Writes sessions of ten models each. Returns the size of the file after each session.
  package func sessions(_ count: Int) throws -> [Int] {
    try (0..<count).map { number in
      try session(number * 10..<number * 10 + 10)
      return try Data(contentsOf: url).count
    }
  }

  package func read(_ damage: StreamGap.Handling = .fails) throws -> (models: [Address], gaps: [StreamGap]) {
    var iterator = ArchiveSequence(Address.self, from: url, damage: damage).makeAsyncIterator()
    var models: [Address] = []
    while let model = try iterator.next() { models.append(model) }
    return (models, iterator.gaps)
  }

  package var bytes: Data { get throws { try Data(contentsOf: url) } }
  package var files: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
  }

  package static func models(_ range: Range<Int>) -> [Address] { range.map(model) }
}
