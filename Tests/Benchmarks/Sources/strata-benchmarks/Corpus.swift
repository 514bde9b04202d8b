import Foundation

/// The 100 tweets of `json/tweets/simdjson-twitter.json`.
enum Corpus {
  /// The server's bytes.
  static func page() throws -> Data {
    let file = try folder().appending(path: "json/tweets/simdjson-twitter.json")
    guard let data = try? Data(contentsOf: file) else {
      throw Failure("the tweets are not there: \(file.path); set STRATA_CORPUS to the folder of the corpus")
    }
    return data
  }

  static func tweets() throws -> [Tweet] {
    let data = try page()
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let dates = DateFormatter()
    dates.locale = Locale(identifier: "en_US_POSIX")
    dates.dateFormat = "EEE MMM dd HH:mm:ss Z yyyy"
    decoder.dateDecodingStrategy = .formatted(dates)
    return try decoder.decode(ServerPage.self, from: data).statuses.map(\.tweet)
  }

  /// GitHub's webhook events for issues, comments and pull requests.
  static func events() throws -> [Data] {
    try ["issues", "issue_comment", "pull_request"].flatMap { kind in
      let folder = try folder().appending(path: "json/github-webhook/\(kind)")
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      return try names.map { try Data(contentsOf: folder.appending(path: $0)) }
    }
  }

  private static func folder() throws -> URL {
    if let path = ProcessInfo.processInfo.environment["STRATA_CORPUS"] { return URL(filePath: path) }
    // Goes up from Tests/Benchmarks/Sources/strata-benchmarks to the folder that contains the repository.
    var root = URL(filePath: #filePath)
    for _ in 0..<6 { root.deleteLastPathComponent() }
    return root.appending(path: "shared/corpus")
  }
}

private struct ServerPage: Decodable { let statuses: [ServerTweet] }

/// A tweet as the server sends it.
private struct ServerTweet: Decodable {
  struct Metadata: Decodable {
    let resultType: String
    let isoLanguageCode: String
  }
  struct Tag: Decodable { let text: String }
  struct Link: Decodable {
    let expandedUrl: URL
    let displayUrl: String
  }
  struct Mention: Decodable {
    let screenName: String
    let id: Int
  }
  struct Medium: Decodable { let mediaUrlHttps: URL }
  struct Entities: Decodable {
    let hashtags: [Tag]
    let symbols: [Tag]
    let urls: [Link]
    let userMentions: [Mention]
    let media: [Medium]?
  }
  final class Box: Decodable {
    let tweet: ServerTweet
    init(from decoder: any Decoder) throws { tweet = try ServerTweet(from: decoder) }
  }

  let metadata: Metadata
  let createdAt: Date
  let id: Int
  let idStr: String
  let text: String
  let source: String
  let truncated: Bool
  let inReplyToStatusId: Int?
  let inReplyToUserId: Int?
  let inReplyToScreenName: String?
  let user: ServerUser
  let retweetCount: Int
  let favoriteCount: Int
  let entities: Entities
  let favorited: Bool
  let retweeted: Bool
  let possiblySensitive: Bool?
  let lang: String
  let retweetedStatus: Box?

  var tweet: Tweet {
    Tweet(
      id: id, idText: idStr, text: text, source: source, createdAt: createdAt, isTruncated: truncated,
      inReplyToTweetID: inReplyToStatusId, inReplyToUserID: inReplyToUserId,
      inReplyToScreenName: inReplyToScreenName, user: user.user, retweetCount: retweetCount,
      favoriteCount: favoriteCount, isFavorited: favorited, isRetweeted: retweeted,
      isPossiblySensitive: possiblySensitive, language: lang,
      metadata: StrataMetadata(resultType: metadata.resultType, isoLanguageCode: metadata.isoLanguageCode),
      hashtags: entities.hashtags.map(\.text), symbols: entities.symbols.map(\.text),
      links: entities.urls.map(\.expandedUrl), displayLinks: entities.urls.map(\.displayUrl),
      mentionedNames: entities.userMentions.map(\.screenName), mentionedIDs: entities.userMentions.map(\.id),
      mediaURLs: entities.media?.map(\.mediaUrlHttps) ?? [],
      retweeted: retweetedStatus.map { [$0.tweet.tweet] } ?? [])
  }
}

/// Inside `ServerTweet`, the name `Metadata` refers to the server's type, so the model needs another name.
private typealias StrataMetadata = Metadata

private struct ServerUser: Decodable {
  let id: Int
  let name: String
  let screenName: String
  let location: String
  let description: String
  let url: URL?
  let protected: Bool
  let followersCount: Int
  let friendsCount: Int
  let listedCount: Int
  let createdAt: Date
  let favouritesCount: Int
  let utcOffset: Int?
  let timeZone: String?
  let geoEnabled: Bool
  let verified: Bool
  let statusesCount: Int
  let lang: String
  let profileBackgroundImageUrlHttps: URL
  let profileImageUrlHttps: URL
  let profileBannerUrl: URL?
  let profileLinkColor: String

  var user: User {
    User(
      id: id, name: name, screenName: screenName, location: location, description: description, url: url,
      isProtected: protected, followerCount: followersCount, friendCount: friendsCount,
      listedCount: listedCount,
      createdAt: createdAt, favoriteCount: favouritesCount, utcOffset: utcOffset, timeZone: timeZone,
      isGeoEnabled: geoEnabled, isVerified: verified, statusCount: statusesCount, language: lang,
      backgroundImageURL: profileBackgroundImageUrlHttps, profileImageURL: profileImageUrlHttps,
      bannerURL: profileBannerUrl, linkColor: profileLinkColor)
  }
}

extension Small {
  /// Returns models that differ in every field. Each call returns the same models.
  static func make(_ count: Int) -> [Small] {
    (0..<count).map { make(number: $0) }
  }

  static func make(number: Int) -> Small {
    Small(
      id: number, name: "Model number \(number)", score: Double(number) * 0.37,
      isFlagged: number.isMultiple(of: 3),
      createdAt: Date(timeIntervalSinceReferenceDate: 700_000_000.25 + Double(number) * 61.5))
  }
}
