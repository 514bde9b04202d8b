import Foundation
import StrataCore
import StrataLegacy

// The classes in NSKeyedArchiver's archives are decoded as the models that they were created from.

extension Small: LegacyModel { static var legacyNames: [String] { ["strata_benchmarks.KeyedSmall"] } }
extension Tweet: LegacyModel { static var legacyNames: [String] { ["strata_benchmarks.KeyedTweet"] } }
extension User: LegacyModel { static var legacyNames: [String] { ["strata_benchmarks.KeyedUser"] } }
extension Metadata: LegacyModel { static var legacyNames: [String] { ["strata_benchmarks.KeyedMetadata"] } }

extension Runner {
  /// Compares two ways to decode the same keyed archives: into models with Strata, and with Foundation's NSKeyedUnarchiver.
  func compareLegacy(_ tweets: [Tweet]) throws {
    try compareLegacy(tweets, "tweets", "legacy/unarchiver/tweets") { tweets in
      // Without a version, the records would count as version 1 and go through all migration steps.
      .keyed(tweets, { KeyedTweet($0, modelVersion: Tweet.schema.modelVersion) }, { $0.value })
    }
    for count in [100, 1000, 10_000] {
      try compareLegacy(Small.make(count), String(count), "legacy/unarchiver/small-\(count)") { .keyed($0) }
    }
    for count in [100, 1000] {
      try compareLegacy(
        Small.make(count).map { SmallObject($0) }, String(count), "legacy/unarchiver/objects-\(count)"
      ) { .keyed($0.map(\.value)) }
    }
    try compareLegacyGrowth()
    try compareLegacyDataGrowth()
    try compareLegacyXML()
  }

  private func compareLegacy<M: VersionedModel & Equatable>(
    _ models: [M], _ trial: String, _ row: String, _ makePeer: ([M]) -> Peer
  ) throws {
    guard wants(row) else { return }
    guard KeyedTrial.survives(trial) else { return say("\(row): left out, since NSKeyedUnarchiver failed elsewhere") }
    let peer = makePeer(models)
    let data = try peer.encode()
    let decoder = ArchiveDecoder()
    guard try peer.isRight(data), try decoder.decode([M].self, fromKeyed: data) == models else {
      throw Failure("\(row): both sides must give the source back")
    }
    try time(row) {
      consume(try decoder.decode([M].self, fromKeyed: data))
    } theirs: {
      try peer.decode(data)
    }
  }

  /// Compares the cost per model in an archive of 10,000 models with the cost per model in an archive of 100.
  private func compareLegacyGrowth() throws {
    guard wants("grow/legacy") else { return }
    let (many, few) = (10_000, 100)
    let manyBytes = try Peer.keyed(Small.make(many)).encode()
    let fewBytes = try Peer.keyed(Small.make(few)).encode()
    let decoder = ArchiveDecoder()
    try time("grow/legacy", inverted: true, oursPer: many, theirsPer: few) {
      consume(try decoder.decode([Small].self, fromKeyed: manyBytes))
    } theirs: {
      consume(try decoder.decode([Small].self, fromKeyed: fewBytes))
    }
  }

  /// Compares the cost per data object in an archive of 100,000 with the cost per data object in an archive of 1,000.
  private func compareLegacyDataGrowth() throws {
    guard wants("grow/legacy-data") else { return }
    func archive(_ count: Int) throws -> Data {
      try ArchiveEncoder().encodeKeyed(
        (0..<count).map { number in Data((0..<88).map { UInt8(truncatingIfNeeded: number >> ($0 % 24)) }) })
    }
    let (many, few) = (100_000, 1000)
    let (manyBytes, fewBytes) = (try archive(many), try archive(few))
    let decoder = ArchiveDecoder()
    guard try decoder.decode([Data].self, fromKeyed: manyBytes).count == many else { throw Failure("grow/legacy-data") }
    try time("grow/legacy-data", inverted: true, oursPer: many, theirsPer: few) {
      consume(try decoder.decode([Data].self, fromKeyed: manyBytes))
    } theirs: {
      consume(try decoder.decode([Data].self, fromKeyed: fewBytes))
    }
  }

  /// Compares Strata's reading of property lists with PropertyListSerialization.
  private func compareLegacyXML() throws {
    let reader = PropertyListReader()
    for (name, format) in [("xml", PropertyListSerialization.PropertyListFormat.xml), ("binary", .binary)] {
      guard wants("plist/\(name)") else { continue }
      let models = Small.make(10_000)
      let list = models.map { model -> [String: Any] in
        [
          "id": model.id, "name": model.name, "score": model.score, "isFlagged": model.isFlagged,
          "createdAt": model.createdAt,
        ]
      }
      let data = try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
      guard try reader.readValue(data).arrayValue?.count == models.count else { throw Failure("plist/\(name)") }
      say("plist/\(name): \(data.count) bytes")
      try time("plist/\(name)") {
        consume(try reader.readValue(data))
      } theirs: {
        consume(try PropertyListSerialization.propertyList(from: data, format: nil))
      }
    }
  }
}
