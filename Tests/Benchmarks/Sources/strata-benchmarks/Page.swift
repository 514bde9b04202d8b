import Foundation
import StrataCore

// These models decode a page exactly as the server sent it. Strata and its peer use the same field names, and both decode the dates as
// text, because their format is unusual.

/// The page of tweets in `json/tweets/simdjson-twitter.json`.
struct Page: VersionedModel, Codable, Equatable, Sendable {
  var statuses: [Status]

  static let schema = ModelSchema(
    Page.self, name: "Page", version: 1, fields: [FieldInfo("statuses", [Status].self)])

  init(fields reader: inout ArchiveReader) throws { statuses = try reader.field(0) }
  func encodeFields(to writer: inout ArchiveWriter) throws { try writer.field(0, statuses) }
}

/// A tweet. A struct cannot contain itself, so a retweeted tweet has only some of the fields.
struct Status: VersionedModel, Codable, Equatable, Sendable {
  var metadata: StatusMetadata
  var created_at: String
  var id: Int
  var id_str: String
  var text: String
  var source: String
  var truncated: Bool
  var in_reply_to_status_id: Int?
  var in_reply_to_user_id: Int?
  var in_reply_to_screen_name: String?
  var user: Author
  var retweeted_status: Retweet?
  var retweet_count: Int
  var favorite_count: Int
  var entities: Entities
  var favorited: Bool
  var retweeted: Bool
  var possibly_sensitive: Bool?
  var lang: String

  static let schema = ModelSchema(
    Status.self, name: "Status", version: 1,
    fields: [
      FieldInfo("metadata", StatusMetadata.self), FieldInfo("created_at", String.self), FieldInfo("id", Int.self),
      FieldInfo("id_str", String.self), FieldInfo("text", String.self), FieldInfo("source", String.self),
      FieldInfo("truncated", Bool.self), FieldInfo("in_reply_to_status_id", Int?.self),
      FieldInfo("in_reply_to_user_id", Int?.self), FieldInfo("in_reply_to_screen_name", String?.self),
      FieldInfo("user", Author.self), FieldInfo("retweeted_status", Retweet?.self),
      FieldInfo("retweet_count", Int.self), FieldInfo("favorite_count", Int.self),
      FieldInfo("entities", Entities.self), FieldInfo("favorited", Bool.self), FieldInfo("retweeted", Bool.self),
      FieldInfo("possibly_sensitive", Bool?.self), FieldInfo("lang", String.self),
    ])

  init(fields reader: inout ArchiveReader) throws {
    metadata = try reader.field(0)
    created_at = try reader.field(1)
    id = try reader.field(2)
    id_str = try reader.field(3)
    text = try reader.field(4)
    source = try reader.field(5)
    truncated = try reader.field(6)
    in_reply_to_status_id = try reader.field(7)
    in_reply_to_user_id = try reader.field(8)
    in_reply_to_screen_name = try reader.field(9)
    user = try reader.field(10)
    retweeted_status = try reader.field(11)
    retweet_count = try reader.field(12)
    favorite_count = try reader.field(13)
    entities = try reader.field(14)
    favorited = try reader.field(15)
    retweeted = try reader.field(16)
    possibly_sensitive = try reader.field(17)
    lang = try reader.field(18)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, metadata)
    try writer.field(1, created_at)
    try writer.field(2, id)
    try writer.field(3, id_str)
    try writer.field(4, text)
    try writer.field(5, source)
    try writer.field(6, truncated)
    try writer.field(7, in_reply_to_status_id)
    try writer.field(8, in_reply_to_user_id)
    try writer.field(9, in_reply_to_screen_name)
    try writer.field(10, user)
    try writer.field(11, retweeted_status)
    try writer.field(12, retweet_count)
    try writer.field(13, favorite_count)
    try writer.field(14, entities)
    try writer.field(15, favorited)
    try writer.field(16, retweeted)
    try writer.field(17, possibly_sensitive)
    try writer.field(18, lang)
  }
}

/// The server's additions to a tweet.
struct StatusMetadata: VersionedModel, Codable, Equatable, Sendable {
  var result_type: String
  var iso_language_code: String

  static let schema = ModelSchema(
    StatusMetadata.self, name: "StatusMetadata", version: 1,
    fields: [
      FieldInfo("result_type", String.self),
      FieldInfo("iso_language_code", String.self),
    ])

  init(fields reader: inout ArchiveReader) throws {
    result_type = try reader.field(0)
    iso_language_code = try reader.field(1)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, result_type)
    try writer.field(1, iso_language_code)
  }
}

/// A tweet that another one retweets.
struct Retweet: VersionedModel, Codable, Equatable, Sendable {
  var id: Int
  var created_at: String
  var text: String
  var source: String
  var user: Author
  var retweet_count: Int
  var favorite_count: Int
  var entities: Entities
  var lang: String

  static let schema = ModelSchema(
    Retweet.self, name: "Retweet", version: 1,
    fields: [
      FieldInfo("id", Int.self),
      FieldInfo("created_at", String.self),
      FieldInfo("text", String.self),
      FieldInfo("source", String.self),
      FieldInfo("user", Author.self),
      FieldInfo("retweet_count", Int.self),
      FieldInfo("favorite_count", Int.self),
      FieldInfo("entities", Entities.self),
      FieldInfo("lang", String.self),
    ])

  init(fields reader: inout ArchiveReader) throws {
    id = try reader.field(0)
    created_at = try reader.field(1)
    text = try reader.field(2)
    source = try reader.field(3)
    user = try reader.field(4)
    retweet_count = try reader.field(5)
    favorite_count = try reader.field(6)
    entities = try reader.field(7)
    lang = try reader.field(8)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, id)
    try writer.field(1, created_at)
    try writer.field(2, text)
    try writer.field(3, source)
    try writer.field(4, user)
    try writer.field(5, retweet_count)
    try writer.field(6, favorite_count)
    try writer.field(7, entities)
    try writer.field(8, lang)
  }
}

/// The author of a tweet.
struct Author: VersionedModel, Codable, Equatable, Sendable {
  var id: Int
  var id_str: String
  var name: String
  var screen_name: String
  var location: String
  var description: String
  var url: URL?
  var protected: Bool
  var followers_count: Int
  var friends_count: Int
  var listed_count: Int
  var created_at: String
  var favourites_count: Int
  var utc_offset: Int?
  var time_zone: String?
  var geo_enabled: Bool
  var verified: Bool
  var statuses_count: Int
  var lang: String
  var profile_background_image_url_https: URL
  var profile_image_url_https: URL
  var profile_banner_url: URL?
  var profile_link_color: String

  static let schema = ModelSchema(
    Author.self, name: "Author", version: 1,
    fields: [
      FieldInfo("id", Int.self),
      FieldInfo("id_str", String.self),
      FieldInfo("name", String.self),
      FieldInfo("screen_name", String.self),
      FieldInfo("location", String.self),
      FieldInfo("description", String.self),
      FieldInfo("url", URL?.self),
      FieldInfo("protected", Bool.self),
      FieldInfo("followers_count", Int.self),
      FieldInfo("friends_count", Int.self),
      FieldInfo("listed_count", Int.self),
      FieldInfo("created_at", String.self),
      FieldInfo("favourites_count", Int.self),
      FieldInfo("utc_offset", Int?.self),
      FieldInfo("time_zone", String?.self),
      FieldInfo("geo_enabled", Bool.self),
      FieldInfo("verified", Bool.self),
      FieldInfo("statuses_count", Int.self),
      FieldInfo("lang", String.self),
      FieldInfo("profile_background_image_url_https", URL.self),
      FieldInfo("profile_image_url_https", URL.self),
      FieldInfo("profile_banner_url", URL?.self),
      FieldInfo("profile_link_color", String.self),
    ])

  init(fields reader: inout ArchiveReader) throws {
    id = try reader.field(0)
    id_str = try reader.field(1)
    name = try reader.field(2)
    screen_name = try reader.field(3)
    location = try reader.field(4)
    description = try reader.field(5)
    url = try reader.field(6)
    protected = try reader.field(7)
    followers_count = try reader.field(8)
    friends_count = try reader.field(9)
    listed_count = try reader.field(10)
    created_at = try reader.field(11)
    favourites_count = try reader.field(12)
    utc_offset = try reader.field(13)
    time_zone = try reader.field(14)
    geo_enabled = try reader.field(15)
    verified = try reader.field(16)
    statuses_count = try reader.field(17)
    lang = try reader.field(18)
    profile_background_image_url_https = try reader.field(19)
    profile_image_url_https = try reader.field(20)
    profile_banner_url = try reader.field(21)
    profile_link_color = try reader.field(22)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, id)
    try writer.field(1, id_str)
    try writer.field(2, name)
    try writer.field(3, screen_name)
    try writer.field(4, location)
    try writer.field(5, description)
    try writer.field(6, url)
    try writer.field(7, protected)
    try writer.field(8, followers_count)
    try writer.field(9, friends_count)
    try writer.field(10, listed_count)
    try writer.field(11, created_at)
    try writer.field(12, favourites_count)
    try writer.field(13, utc_offset)
    try writer.field(14, time_zone)
    try writer.field(15, geo_enabled)
    try writer.field(16, verified)
    try writer.field(17, statuses_count)
    try writer.field(18, lang)
    try writer.field(19, profile_background_image_url_https)
    try writer.field(20, profile_image_url_https)
    try writer.field(21, profile_banner_url)
    try writer.field(22, profile_link_color)
  }
}

/// The entities that a tweet mentions.
struct Entities: VersionedModel, Codable, Equatable, Sendable {
  var hashtags: [Tag]
  var symbols: [Tag]
  var urls: [Link]
  var user_mentions: [Mention]
  var media: [Medium]?

  static let schema = ModelSchema(
    Entities.self, name: "Entities", version: 1,
    fields: [
      FieldInfo("hashtags", [Tag].self),
      FieldInfo("symbols", [Tag].self),
      FieldInfo("urls", [Link].self),
      FieldInfo("user_mentions", [Mention].self),
      FieldInfo("media", [Medium]?.self),
    ])

  init(fields reader: inout ArchiveReader) throws {
    hashtags = try reader.field(0)
    symbols = try reader.field(1)
    urls = try reader.field(2)
    user_mentions = try reader.field(3)
    media = try reader.field(4)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, hashtags)
    try writer.field(1, symbols)
    try writer.field(2, urls)
    try writer.field(3, user_mentions)
    try writer.field(4, media)
  }
}

/// A hashtag or a symbol.
struct Tag: VersionedModel, Codable, Equatable, Sendable {
  var text: String
  var indices: [Int]

  static let schema = ModelSchema(
    Tag.self, name: "Tag", version: 1,
    fields: [
      FieldInfo("text", String.self),
      FieldInfo("indices", [Int].self),
    ])

  init(fields reader: inout ArchiveReader) throws {
    text = try reader.field(0)
    indices = try reader.field(1)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, text)
    try writer.field(1, indices)
  }
}

struct Link: VersionedModel, Codable, Equatable, Sendable {
  var url: URL
  var expanded_url: URL
  var display_url: String
  var indices: [Int]

  static let schema = ModelSchema(
    Link.self, name: "Link", version: 1,
    fields: [
      FieldInfo("url", URL.self),
      FieldInfo("expanded_url", URL.self),
      FieldInfo("display_url", String.self),
      FieldInfo("indices", [Int].self),
    ])

  init(fields reader: inout ArchiveReader) throws {
    url = try reader.field(0)
    expanded_url = try reader.field(1)
    display_url = try reader.field(2)
    indices = try reader.field(3)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, url)
    try writer.field(1, expanded_url)
    try writer.field(2, display_url)
    try writer.field(3, indices)
  }
}

/// A user whom a tweet mentions.
struct Mention: VersionedModel, Codable, Equatable, Sendable {
  var screen_name: String
  var name: String
  var id: Int
  var id_str: String
  var indices: [Int]

  static let schema = ModelSchema(
    Mention.self, name: "Mention", version: 1,
    fields: [
      FieldInfo("screen_name", String.self),
      FieldInfo("name", String.self),
      FieldInfo("id", Int.self),
      FieldInfo("id_str", String.self),
      FieldInfo("indices", [Int].self),
    ])

  init(fields reader: inout ArchiveReader) throws {
    screen_name = try reader.field(0)
    name = try reader.field(1)
    id = try reader.field(2)
    id_str = try reader.field(3)
    indices = try reader.field(4)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, screen_name)
    try writer.field(1, name)
    try writer.field(2, id)
    try writer.field(3, id_str)
    try writer.field(4, indices)
  }
}

struct Medium: VersionedModel, Codable, Equatable, Sendable {
  var id: Int
  var media_url_https: URL
  var display_url: String
  var type: String

  static let schema = ModelSchema(
    Medium.self, name: "Medium", version: 1,
    fields: [
      FieldInfo("id", Int.self),
      FieldInfo("media_url_https", URL.self),
      FieldInfo("display_url", String.self),
      FieldInfo("type", String.self),
    ])

  init(fields reader: inout ArchiveReader) throws {
    id = try reader.field(0)
    media_url_https = try reader.field(1)
    display_url = try reader.field(2)
    type = try reader.field(3)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, id)
    try writer.field(1, media_url_https)
    try writer.field(2, display_url)
    try writer.field(3, type)
  }
}
