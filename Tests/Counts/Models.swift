import Foundation
import StrataCore

// Models as `@Model(version:)` generates them. The benchmarks also compile this file, through a symbolic link, and compare Strata with
// coders that need `Codable`.

/// The server's additions to a tweet. In version 3 the tweet contained these fields itself.
struct Metadata: VersionedModel, Codable, Equatable, Sendable {
  var resultType: String
  var isoLanguageCode: String
}

extension Metadata {
  static let schema = ModelSchema(
    Metadata.self, name: "Metadata", version: 1,
    fields: [
      FieldInfo("resultType", String.self),
      FieldInfo("isoLanguageCode", String.self),
    ])

  init(fields reader: inout ArchiveReader) throws {
    resultType = try reader.field(0)
    isoLanguageCode = try reader.field(1)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, resultType)
    try writer.field(1, isoLanguageCode)
  }
}

/// The author of a tweet.
struct User: VersionedModel, Codable, Equatable, Sendable {
  var id: Int
  var name: String
  var screenName: String
  var location: String
  var description: String
  var url: URL?
  var isProtected: Bool
  var followerCount: Int
  var friendCount: Int
  var listedCount: Int
  var createdAt: Date
  var favoriteCount: Int
  var utcOffset: Int?
  var timeZone: String?
  var isGeoEnabled: Bool
  var isVerified: Bool
  var statusCount: Int
  var language: String
  var backgroundImageURL: URL
  var profileImageURL: URL
  var bannerURL: URL?
  var linkColor: String
}

extension User {
  static let schema = ModelSchema(
    User.self, name: "User", version: 1,
    fields: [
      FieldInfo("id", Int.self),
      FieldInfo("name", String.self),
      FieldInfo("screenName", String.self),
      FieldInfo("location", String.self),
      FieldInfo("description", String.self),
      FieldInfo("url", URL?.self),
      FieldInfo("isProtected", Bool.self),
      FieldInfo("followerCount", Int.self),
      FieldInfo("friendCount", Int.self),
      FieldInfo("listedCount", Int.self),
      FieldInfo("createdAt", Date.self),
      FieldInfo("favoriteCount", Int.self),
      FieldInfo("utcOffset", Int?.self),
      FieldInfo("timeZone", String?.self),
      FieldInfo("isGeoEnabled", Bool.self),
      FieldInfo("isVerified", Bool.self),
      FieldInfo("statusCount", Int.self),
      FieldInfo("language", String.self),
      FieldInfo("backgroundImageURL", URL.self),
      FieldInfo("profileImageURL", URL.self),
      FieldInfo("bannerURL", URL?.self),
      FieldInfo("linkColor", String.self),
    ])

  init(fields reader: inout ArchiveReader) throws {
    id = try reader.field(0)
    name = try reader.field(1)
    screenName = try reader.field(2)
    location = try reader.field(3)
    description = try reader.field(4)
    url = try reader.field(5)
    isProtected = try reader.field(6)
    followerCount = try reader.field(7)
    friendCount = try reader.field(8)
    listedCount = try reader.field(9)
    createdAt = try reader.field(10)
    favoriteCount = try reader.field(11)
    utcOffset = try reader.field(12)
    timeZone = try reader.field(13)
    isGeoEnabled = try reader.field(14)
    isVerified = try reader.field(15)
    statusCount = try reader.field(16)
    language = try reader.field(17)
    backgroundImageURL = try reader.field(18)
    profileImageURL = try reader.field(19)
    bannerURL = try reader.field(20)
    linkColor = try reader.field(21)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, id)
    try writer.field(1, name)
    try writer.field(2, screenName)
    try writer.field(3, location)
    try writer.field(4, description)
    try writer.field(5, url)
    try writer.field(6, isProtected)
    try writer.field(7, followerCount)
    try writer.field(8, friendCount)
    try writer.field(9, listedCount)
    try writer.field(10, createdAt)
    try writer.field(11, favoriteCount)
    try writer.field(12, utcOffset)
    try writer.field(13, timeZone)
    try writer.field(14, isGeoEnabled)
    try writer.field(15, isVerified)
    try writer.field(16, statusCount)
    try writer.field(17, language)
    try writer.field(18, backgroundImageURL)
    try writer.field(19, profileImageURL)
    try writer.field(20, bannerURL)
    try writer.field(21, linkColor)
  }
}

/// A tweet. A struct cannot contain itself, so `retweeted` is an array of at most one element.
struct Tweet: VersionedModel, Codable, Equatable, Sendable {
  var id: Int
  var idText: String
  var text: String
  var source: String
  var createdAt: Date
  var isTruncated: Bool
  var inReplyToTweetID: Int?
  var inReplyToUserID: Int?
  var inReplyToScreenName: String?
  var user: User
  var retweetCount: Int
  var favoriteCount: Int
  var isFavorited: Bool
  var isRetweeted: Bool
  var isPossiblySensitive: Bool?
  var language: String
  var metadata: Metadata
  var hashtags: [String]
  var symbols: [String]
  var links: [URL]
  var displayLinks: [String]
  var mentionedNames: [String]
  var mentionedIDs: [Int]
  var mediaURLs: [URL]
  var retweeted: [Tweet]
}

extension Tweet {
  static let schema = ModelSchema(
    Tweet.self, name: "Tweet", version: 4,
    fields: [
      FieldInfo("id", Int.self),
      FieldInfo("idText", String.self),
      FieldInfo("text", String.self),
      FieldInfo("source", String.self),
      FieldInfo("createdAt", Date.self),
      FieldInfo("isTruncated", Bool.self),
      FieldInfo("inReplyToTweetID", Int?.self),
      FieldInfo("inReplyToUserID", Int?.self),
      FieldInfo("inReplyToScreenName", String?.self),
      FieldInfo("user", User.self),
      FieldInfo("retweetCount", Int.self),
      FieldInfo("favoriteCount", Int.self),
      FieldInfo("isFavorited", Bool.self),
      FieldInfo("isRetweeted", Bool.self),
      FieldInfo("isPossiblySensitive", Bool?.self),
      FieldInfo("language", String.self),
      FieldInfo("metadata", Metadata.self),
      FieldInfo("hashtags", [String].self),
      FieldInfo("symbols", [String].self),
      FieldInfo("links", [URL].self),
      FieldInfo("displayLinks", [String].self),
      FieldInfo("mentionedNames", [String].self),
      FieldInfo("mentionedIDs", [Int].self),
      FieldInfo("mediaURLs", [URL].self),
      FieldInfo("retweeted", [Tweet].self),
    ])

  init(fields reader: inout ArchiveReader) throws {
    id = try reader.field(0)
    idText = try reader.field(1)
    text = try reader.field(2)
    source = try reader.field(3)
    createdAt = try reader.field(4)
    isTruncated = try reader.field(5)
    inReplyToTweetID = try reader.field(6)
    inReplyToUserID = try reader.field(7)
    inReplyToScreenName = try reader.field(8)
    user = try reader.field(9)
    retweetCount = try reader.field(10)
    favoriteCount = try reader.field(11)
    isFavorited = try reader.field(12)
    isRetweeted = try reader.field(13)
    isPossiblySensitive = try reader.field(14)
    language = try reader.field(15)
    metadata = try reader.field(16)
    hashtags = try reader.field(17)
    symbols = try reader.field(18)
    links = try reader.field(19)
    displayLinks = try reader.field(20)
    mentionedNames = try reader.field(21)
    mentionedIDs = try reader.field(22)
    mediaURLs = try reader.field(23)
    retweeted = try reader.field(24)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, id)
    try writer.field(1, idText)
    try writer.field(2, text)
    try writer.field(3, source)
    try writer.field(4, createdAt)
    try writer.field(5, isTruncated)
    try writer.field(6, inReplyToTweetID)
    try writer.field(7, inReplyToUserID)
    try writer.field(8, inReplyToScreenName)
    try writer.field(9, user)
    try writer.field(10, retweetCount)
    try writer.field(11, favoriteCount)
    try writer.field(12, isFavorited)
    try writer.field(13, isRetweeted)
    try writer.field(14, isPossiblySensitive)
    try writer.field(15, language)
    try writer.field(16, metadata)
    try writer.field(17, hashtags)
    try writer.field(18, symbols)
    try writer.field(19, links)
    try writer.field(20, displayLinks)
    try writer.field(21, mentionedNames)
    try writer.field(22, mentionedIDs)
    try writer.field(23, mediaURLs)
    try writer.field(24, retweeted)
  }
}

/// A model with five fields.
struct Small: VersionedModel, Codable, Equatable, Sendable {
  var id: Int
  var name: String
  var score: Double
  var isFlagged: Bool
  var createdAt: Date
}

extension Small {
  static let schema = ModelSchema(
    Small.self, name: "Small", version: 1,
    fields: [
      FieldInfo("id", Int.self),
      FieldInfo("name", String.self),
      FieldInfo("score", Double.self),
      FieldInfo("isFlagged", Bool.self),
      FieldInfo("createdAt", Date.self),
    ])

  init(fields reader: inout ArchiveReader) throws {
    id = try reader.field(0)
    name = try reader.field(1)
    score = try reader.field(2)
    isFlagged = try reader.field(3)
    createdAt = try reader.field(4)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, id)
    try writer.field(1, name)
    try writer.field(2, score)
    try writer.field(3, isFlagged)
    try writer.field(4, createdAt)
  }
}
