import Foundation

// The types that an app without Strata would use: structs that are only Codable and have the server's names.

/// The page of tweets in `json/tweets/simdjson-twitter.json`. Its dates have an unusual format and are decoded as text.
enum PlainTweets {
  struct Page: Codable, Equatable, Sendable {
    var statuses: [Status]
    var search_metadata: SearchMetadata
  }
  struct Status: Codable, Equatable, Sendable {
    var metadata: StatusMetadata
    var created_at: String
    var id: Int
    var id_str: String
    var text: String
    var source: String
    var truncated: Bool
    var in_reply_to_status_id: Int?
    var in_reply_to_status_id_str: String?
    var in_reply_to_user_id: Int?
    var in_reply_to_user_id_str: String?
    var in_reply_to_screen_name: String?
    var user: Author
    var retweet_count: Int
    var favorite_count: Int
    var entities: Entities
    var favorited: Bool
    var retweeted: Bool
    var lang: String
    var retweeted_status: Retweet?
    var possibly_sensitive: Bool?
  }
  struct StatusMetadata: Codable, Equatable, Sendable {
    var result_type: String
    var iso_language_code: String
  }
  struct Author: Codable, Equatable, Sendable {
    var id: Int
    var id_str: String
    var name: String
    var screen_name: String
    var location: String
    var description: String
    var url: URL?
    var entities: AuthorEntities
    var `protected`: Bool
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
    var contributors_enabled: Bool
    var is_translator: Bool
    var is_translation_enabled: Bool
    var profile_background_color: String
    var profile_background_image_url: String
    var profile_background_image_url_https: URL
    var profile_background_tile: Bool
    var profile_image_url: String
    var profile_image_url_https: URL
    var profile_banner_url: String?
    var profile_link_color: String
    var profile_sidebar_border_color: String
    var profile_sidebar_fill_color: String
    var profile_text_color: String
    var profile_use_background_image: Bool
    var default_profile: Bool
    var default_profile_image: Bool
    var following: Bool
    var follow_request_sent: Bool
    var notifications: Bool
  }
  struct AuthorEntities: Codable, Equatable, Sendable {
    var description: AuthorText
    var url: AuthorText?
  }
  struct AuthorText: Codable, Equatable, Sendable {
    var urls: [Address]
  }
  struct Entities: Codable, Equatable, Sendable {
    var hashtags: [Tag]
    var symbols: [Tag]
    var urls: [Address]
    var user_mentions: [Mention]
    var media: [Medium]?
  }
  struct Mention: Codable, Equatable, Sendable {
    var screen_name: String
    var name: String
    var id: Int
    var id_str: String
    var indices: [Int]
  }
  struct Address: Codable, Equatable, Sendable {
    var url: URL
    var expanded_url: URL
    var display_url: String
    var indices: [Int]
  }
  struct Retweet: Codable, Equatable, Sendable {
    var metadata: StatusMetadata
    var created_at: String
    var id: Int
    var id_str: String
    var text: String
    var source: String
    var truncated: Bool
    var in_reply_to_status_id: Int?
    var in_reply_to_status_id_str: String?
    var in_reply_to_user_id: Int?
    var in_reply_to_user_id_str: String?
    var in_reply_to_screen_name: String?
    var user: Author
    var retweet_count: Int
    var favorite_count: Int
    var entities: Entities
    var favorited: Bool
    var retweeted: Bool
    var possibly_sensitive: Bool?
    var lang: String
  }
  struct Medium: Codable, Equatable, Sendable {
    var id: Int
    var id_str: String
    var indices: [Int]
    var media_url: String
    var media_url_https: URL
    var url: URL
    var display_url: String
    var expanded_url: URL
    var type: String
    var sizes: Sizes
    var source_status_id: Int?
    var source_status_id_str: String?
  }
  struct Sizes: Codable, Equatable, Sendable {
    var medium: Size
    var small: Size
    var thumb: Size
    var large: Size
  }
  struct Size: Codable, Equatable, Sendable {
    var w: Int
    var h: Int
    var resize: String
  }
  struct Tag: Codable, Equatable, Sendable {
    var text: String
    var indices: [Int]
  }
  struct SearchMetadata: Codable, Equatable, Sendable {
    var max_id: Int
    var max_id_str: String
    var next_results: String
    var query: String
    var refresh_url: String
    var count: Int
    var since_id: Int
    var since_id_str: String
  }
}
