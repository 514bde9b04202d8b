import Foundation
import StrataCore
import StrataLegacy
import SwiftProtobuf

/// A coder that encodes and decodes a set of models. Everything that it needs is created before the clock starts.
struct Peer {
  let name: String
  let encode: () throws -> Data
  let decode: (Data) throws -> Void
  /// Whether decoding returns the original models.
  let isRight: (Data) throws -> Bool

  static func json<M: Codable & Equatable>(_ models: [M]) -> Peer {
    let encoder = JSONEncoder()
    let decoder = JSONDecoder()
    return Peer(name: "json") {
      try encoder.encode(models)
    } decode: {
      consume(try decoder.decode([M].self, from: $0))
    } isRight: {
      try decoder.decode([M].self, from: $0) == models
    }
  }

  static func plist<M: Codable & Equatable>(_ models: [M]) -> Peer {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    let decoder = PropertyListDecoder()
    return Peer(name: "plist") {
      try encoder.encode(models)
    } decode: {
      consume(try decoder.decode([M].self, from: $0))
    } isRight: {
      try decoder.decode([M].self, from: $0) == models
    }
  }

  static func protobuf<P: Message & Equatable>(_ list: P) -> Peer {
    Peer(name: "protobuf") {
      try list.serializedBytes()
    } decode: {
      consume(try P(serializedBytes: $0))
    } isRight: {
      try P(serializedBytes: $0) == list
    }
  }

  static func keyed<M: Equatable, K: NSObject>(_ models: [M], _ make: (M) -> K, _ value: @escaping (K) -> M)
    -> Peer
  {
    let root = NSArray(array: models.map(make))
    func decode(_ data: Data) throws -> [K] {
      // For the root and its elements, NSKeyedUnarchiver accepts only the classes that are listed here.
      let object = try NSKeyedUnarchiver.unarchivedObject(
        ofClasses: [NSArray.self, K.self, KeyedUser.self, KeyedMetadata.self, NSString.self, NSDate.self],
        from: data)
      guard let models = object as? [K] else { throw Failure("NSKeyedUnarchiver gave something else") }
      return models
    }
    return Peer(name: "keyed") {
      try NSKeyedArchiver.archivedData(withRootObject: root, requiringSecureCoding: true)
    } decode: {
      consume(try decode($0))
    } isRight: {
      try decode($0).map(value) == models
    }
  }
}

extension Peer {
  static func protobuf(_ tweets: [Tweet]) -> Peer {
    var list = ProtobufTweetList()
    list.tweets = tweets.map { ProtobufTweet($0) }
    return protobuf(list)
  }

  static func protobuf(_ models: [Small]) -> Peer {
    var list = ProtobufSmallList()
    list.models = models.map { ProtobufSmall($0) }
    return protobuf(list)
  }

  static func keyed(_ tweets: [Tweet]) -> Peer { keyed(tweets, { KeyedTweet($0) }, { $0.value }) }
  static func keyed(_ models: [Small]) -> Peer { keyed(models, { KeyedSmall($0) }, { $0.value }) }
}

/// NSKeyedUnarchiver can crash on Linux, so another process tries it first.
enum KeyedTrial {
  static let argument = "--trial-keyed"

  /// Decodes the named set of models and exits with 0 if the result equals the source.
  static func run(_ name: String) throws {
    let isRight: Bool
    switch name {
    case "tweets":
      let peer = Peer.keyed(try Corpus.tweets())
      isRight = try peer.isRight(peer.encode())
    default:
      let peer = Peer.keyed(Small.make(Int(name) ?? 1))
      isRight = try peer.isRight(peer.encode())
    }
    guard isRight else { throw Failure("NSKeyedUnarchiver did not give the source back") }
  }

  static func survives(_ name: String) -> Bool {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = [argument, name]
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationReason == .exit && process.terminationStatus == 0
  }
}
