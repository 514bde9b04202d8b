import Foundation
import StrataCore

// These tweets have the shape and size of those in Tests/Benchmarks. They are generated from a seed, so no corpus is needed. Their
// text is mostly Japanese, two thirds of them are retweets, and their users have long descriptions.

/// A random number generator with a seed (SplitMix64).
struct SeededNumbers {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next(below limit: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((mixed ^ (mixed >> 31)) % UInt64(limit))
  }

  /// Returns `true` once in `count` calls on average.
  mutating func isOne(in count: Int) -> Bool { next(below: count) == 0 }
}

extension Tweet {
  static func make(_ count: Int) throws -> [Tweet] {
    var numbers = SeededNumbers(seed: 2014)
    return try (0..<count).map { try make(number: $0, isRetweet: $0 % 3 != 0, &numbers) }
  }

  private static func make(number: Int, isRetweet: Bool, _ numbers: inout SeededNumbers) throws -> Tweet {
    let id = 505_874_000_000_000_000 + number * 1_000_003 + numbers.next(below: 1_000_000)
    let reply = numbers.isOne(in: 8) ? 500_000_000_000_000_000 + numbers.next(below: 1_000_000_000) : nil
    let mentions = numbers.next(below: 3)
    let links = numbers.isOne(in: 3) ? 1 : 0
    return Tweet(
      id: id, idText: "\(id)", text: text(20 + numbers.next(below: 25), &numbers),
      source: #"<a href="http://twitter.com/download/iphone" rel="nofollow">Twitter for iPhone</a>"#,
      createdAt: Date(timeIntervalSince1970: 1_409_500_000 + Double(numbers.next(below: 100_000))),
      isTruncated: false, inReplyToTweetID: reply, inReplyToUserID: reply.map { $0 / 1_000_000_000 },
      inReplyToScreenName: reply.map { "user_\($0 % 1000)" }, user: try User.make(&numbers),
      retweetCount: numbers.next(below: 3000), favoriteCount: numbers.next(below: 500), isFavorited: false,
      isRetweeted: false, isPossiblySensitive: links > 0 ? false : nil, language: "ja",
      metadata: Metadata(resultType: "recent", isoLanguageCode: "ja"),
      hashtags: numbers.isOne(in: 5) ? [text(2, &numbers), "a\(numbers.next(below: 100))"] : [],
      symbols: numbers.isOne(in: 50) ? ["CASH"] : [],
      links: try (0..<links).map { _ in try url("http://example.com/articles/\(numbers.next(below: 100_000)).html") },
      displayLinks: (0..<links).map { _ in "example.com/articles/\(numbers.next(below: 1000))…" },
      mentionedNames: (0..<mentions).map { _ in "user_\(numbers.next(below: 100_000))" },
      mentionedIDs: (0..<mentions).map { _ in numbers.next(below: 3_000_000_000) },
      mediaURLs: numbers.isOne(in: 4) ? [try url("https://pbs.example.com/\(numbers.next(below: 1 << 40)).jpg")] : [],
      retweeted: isRetweet ? [try make(number: number + 1000, isRetweet: false, &numbers)] : [])
  }

  fileprivate static func text(_ words: Int, _ numbers: inout SeededNumbers) -> String {
    (0..<words).map { _ in Self.words[numbers.next(below: Self.words.count)] }.joined()
  }

  fileprivate static func url(_ text: String) throws -> URL {
    guard let url = URL(string: text) else { throw Failure("\(text) is no URL") }
    return url
  }

  private static let words = [
    "今日", "は", "とても", "いい", "天気", "です", "ね", "。", "名前", "前田", "あゆみ", "第一", "印象", "なんか", "怖っ", "！",
    "今の", "とりあえず", "キモい", "噛み合わない", "好きな", "ところ", "ぶすでキモい", "\n", "RT ", "@user: ", "http://t.co/x ", "😋", "✨",
    "おめでとう", "ございます", "\"ok\" ",
  ]
}

extension User {
  fileprivate static func make(_ numbers: inout SeededNumbers) throws -> User {
    let id = 100_000_000 + numbers.next(below: 2_000_000_000)
    let hasURL = numbers.isOne(in: 3), hasZone = numbers.isOne(in: 2)
    return User(
      id: id, name: Tweet.text(3, &numbers), screenName: "user_\(id % 1_000_000)",
      location: numbers.isOne(in: 2) ? Tweet.text(3, &numbers) : "",
      description: Tweet.text(15 + numbers.next(below: 25), &numbers),
      url: hasURL ? try Tweet.url("http://t.co/\(id % 100_000_000)") : nil, isProtected: false,
      followerCount: numbers.next(below: 10_000), friendCount: numbers.next(below: 3000),
      listedCount: numbers.next(below: 50),
      createdAt: Date(timeIntervalSince1970: 1_260_000_000 + Double(numbers.next(below: 140_000_000))),
      favoriteCount: numbers.next(below: 5000), utcOffset: hasZone ? 32400 : nil, timeZone: hasZone ? "Irkutsk" : nil,
      isGeoEnabled: numbers.isOne(in: 2), isVerified: false, statusCount: numbers.next(below: 60_000), language: "ja",
      backgroundImageURL: try Tweet.url("https://abs.example.com/images/themes/theme\(1 + id % 20)/bg.png"),
      profileImageURL: try Tweet.url("https://pbs.example.com/profile_images/\(id)/normal.jpeg"),
      bannerURL: numbers.isOne(in: 3) ? nil : try Tweet.url("https://pbs.example.com/profile_banners/\(id)/14070"),
      linkColor: "0084B4")
  }
}

extension [Tweet] {
  /// Returns the tweets as the JSON that a server would send, including members that the models don't have.
  func serverText() throws -> Data {
    try JSONWriter().write(Self.widened(JSONReader().read(JSONWriter().write(self))))
  }

  private static func widened(_ value: ArchiveValue) -> ArchiveValue {
    switch value {
    case .array(let elements): return .array(elements.map(widened))
    case .object(let object):
      let extra = object["screenName"] != nil ? userMembers : object["idText"] != nil ? tweetMembers : []
      let known = object.entries.map { ArchiveObject.Entry(key: $0.key, value: widened($0.value)) }
      // Inserts an unknown member after each known one, until no unknown members are left.
      var entries: [ArchiveObject.Entry] = []
      for (place, entry) in known.enumerated() {
        entries.append(entry)
        if place < extra.count { entries.append(extra[place]) }
      }
      return .object(ArchiveObject(entries))
    default: return value
    }
  }

  private static let tweetMembers: [ArchiveObject.Entry] = [
    .init(key: "in_reply_to_status_id_str", value: .null), .init(key: "in_reply_to_user_id_str", value: .null),
    .init(key: "geo", value: .null), .init(key: "coordinates", value: .null), .init(key: "contributors", value: .null),
    .init(
      key: "entities",
      value: .object(
        ArchiveObject([
          .init(key: "hashtags", value: []), .init(key: "symbols", value: []),
          .init(key: "user_mentions", value: [.object(ArchiveObject([.init(key: "indices", value: [0, 11])]))]),
        ]))),
  ]

  private static let userMembers: [ArchiveObject.Entry] =
    [
      "profile_background_color", "profile_sidebar_border_color", "profile_sidebar_fill_color", "profile_text_color",
    ].map { .init(key: $0, value: "C0DEED") }
    + [
      "contributors_enabled", "is_translator", "is_translation_enabled", "profile_background_tile",
      "profile_use_background_image", "default_profile", "default_profile_image", "following", "follow_request_sent",
      "notifications",
    ].map { .init(key: $0, value: false) }
    + ["profile_background_image_url", "profile_image_url"].map {
      .init(key: $0, value: "http://abs.example.com/images/themes/theme1/bg.png")
    }
}
