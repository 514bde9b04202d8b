import Foundation

// Classes for NSKeyedArchiver with the same values as the models. Their instances are created before the clock starts.

final class KeyedMetadata: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let resultType: String
  let isoLanguageCode: String

  init(_ value: Metadata) {
    resultType = value.resultType
    isoLanguageCode = value.isoLanguageCode
  }

  init?(coder: NSCoder) {
    guard let resultType = coder.decodeObject(of: [NSString.self], forKey: "resultType") as? String else {
      return nil
    }
    self.resultType = resultType
    guard let isoLanguageCode = coder.decodeObject(of: [NSString.self], forKey: "isoLanguageCode") as? String
    else { return nil }
    self.isoLanguageCode = isoLanguageCode
  }

  func encode(with coder: NSCoder) {
    coder.encode(resultType, forKey: "resultType")
    coder.encode(isoLanguageCode, forKey: "isoLanguageCode")
  }

  var value: Metadata {
    Metadata(resultType: resultType, isoLanguageCode: isoLanguageCode)
  }
}

final class KeyedUser: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let id: Int
  let name: String
  let screenName: String
  let location: String
  let about: String
  let url: URL?
  let isProtected: Bool
  let followerCount: Int
  let friendCount: Int
  let listedCount: Int
  let createdAt: Date
  let favoriteCount: Int
  let utcOffset: Int?
  let timeZone: String?
  let isGeoEnabled: Bool
  let isVerified: Bool
  let statusCount: Int
  let language: String
  let backgroundImageURL: URL
  let profileImageURL: URL
  let bannerURL: URL?
  let linkColor: String

  init(_ value: User) {
    id = value.id
    name = value.name
    screenName = value.screenName
    location = value.location
    about = value.description
    url = value.url
    isProtected = value.isProtected
    followerCount = value.followerCount
    friendCount = value.friendCount
    listedCount = value.listedCount
    createdAt = value.createdAt
    favoriteCount = value.favoriteCount
    utcOffset = value.utcOffset
    timeZone = value.timeZone
    isGeoEnabled = value.isGeoEnabled
    isVerified = value.isVerified
    statusCount = value.statusCount
    language = value.language
    backgroundImageURL = value.backgroundImageURL
    profileImageURL = value.profileImageURL
    bannerURL = value.bannerURL
    linkColor = value.linkColor
  }

  init?(coder: NSCoder) {
    id = coder.decodeInteger(forKey: "id")
    guard let name = coder.decodeObject(of: [NSString.self], forKey: "name") as? String else { return nil }
    self.name = name
    guard let screenName = coder.decodeObject(of: [NSString.self], forKey: "screenName") as? String else {
      return nil
    }
    self.screenName = screenName
    guard let location = coder.decodeObject(of: [NSString.self], forKey: "location") as? String else {
      return nil
    }
    self.location = location
    guard let about = coder.decodeObject(of: [NSString.self], forKey: "description") as? String else {
      return nil
    }
    self.about = about
    url = coder.decodeObject(of: [NSURL.self], forKey: "url") as? URL
    isProtected = coder.decodeBool(forKey: "isProtected")
    followerCount = coder.decodeInteger(forKey: "followerCount")
    friendCount = coder.decodeInteger(forKey: "friendCount")
    listedCount = coder.decodeInteger(forKey: "listedCount")
    guard let createdAt = coder.decodeObject(of: [NSDate.self], forKey: "createdAt") as? Date else {
      return nil
    }
    self.createdAt = createdAt
    favoriteCount = coder.decodeInteger(forKey: "favoriteCount")
    utcOffset = coder.decodeObject(of: NSNumber.self, forKey: "utcOffset")?.intValue
    timeZone = coder.decodeObject(of: [NSString.self], forKey: "timeZone") as? String
    isGeoEnabled = coder.decodeBool(forKey: "isGeoEnabled")
    isVerified = coder.decodeBool(forKey: "isVerified")
    statusCount = coder.decodeInteger(forKey: "statusCount")
    guard let language = coder.decodeObject(of: [NSString.self], forKey: "language") as? String else {
      return nil
    }
    self.language = language
    guard let backgroundImageURL = coder.decodeObject(of: [NSURL.self], forKey: "backgroundImageURL") as? URL
    else { return nil }
    self.backgroundImageURL = backgroundImageURL
    guard let profileImageURL = coder.decodeObject(of: [NSURL.self], forKey: "profileImageURL") as? URL else {
      return nil
    }
    self.profileImageURL = profileImageURL
    bannerURL = coder.decodeObject(of: [NSURL.self], forKey: "bannerURL") as? URL
    guard let linkColor = coder.decodeObject(of: [NSString.self], forKey: "linkColor") as? String else {
      return nil
    }
    self.linkColor = linkColor
  }

  func encode(with coder: NSCoder) {
    coder.encode(id, forKey: "id")
    coder.encode(name, forKey: "name")
    coder.encode(screenName, forKey: "screenName")
    coder.encode(location, forKey: "location")
    coder.encode(about, forKey: "description")
    coder.encode(url, forKey: "url")
    coder.encode(isProtected, forKey: "isProtected")
    coder.encode(followerCount, forKey: "followerCount")
    coder.encode(friendCount, forKey: "friendCount")
    coder.encode(listedCount, forKey: "listedCount")
    coder.encode(createdAt, forKey: "createdAt")
    coder.encode(favoriteCount, forKey: "favoriteCount")
    coder.encode(utcOffset, forKey: "utcOffset")
    coder.encode(timeZone, forKey: "timeZone")
    coder.encode(isGeoEnabled, forKey: "isGeoEnabled")
    coder.encode(isVerified, forKey: "isVerified")
    coder.encode(statusCount, forKey: "statusCount")
    coder.encode(language, forKey: "language")
    coder.encode(backgroundImageURL, forKey: "backgroundImageURL")
    coder.encode(profileImageURL, forKey: "profileImageURL")
    coder.encode(bannerURL, forKey: "bannerURL")
    coder.encode(linkColor, forKey: "linkColor")
  }

  var value: User {
    User(
      id: id, name: name, screenName: screenName, location: location, description: about, url: url,
      isProtected: isProtected, followerCount: followerCount, friendCount: friendCount,
      listedCount: listedCount, createdAt: createdAt, favoriteCount: favoriteCount, utcOffset: utcOffset,
      timeZone: timeZone, isGeoEnabled: isGeoEnabled, isVerified: isVerified, statusCount: statusCount,
      language: language, backgroundImageURL: backgroundImageURL, profileImageURL: profileImageURL,
      bannerURL: bannerURL, linkColor: linkColor)
  }
}

final class KeyedTweet: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let id: Int
  let idText: String
  let text: String
  let source: String
  let createdAt: Date
  let isTruncated: Bool
  let inReplyToTweetID: Int?
  let inReplyToUserID: Int?
  let inReplyToScreenName: String?
  let user: KeyedUser
  let retweetCount: Int
  let favoriteCount: Int
  let isFavorited: Bool
  let isRetweeted: Bool
  let isPossiblySensitive: Bool?
  let language: String
  let metadata: KeyedMetadata
  let hashtags: [String]
  let symbols: [String]
  let links: [URL]
  let displayLinks: [String]
  let mentionedNames: [String]
  let mentionedIDs: [Int]
  let mediaURLs: [URL]
  let retweeted: [KeyedTweet]
  /// The model's version. It is archived unless it is `nil`.
  let modelVersion: Int?

  init(_ value: Tweet, modelVersion: Int? = nil) {
    self.modelVersion = modelVersion
    id = value.id
    idText = value.idText
    text = value.text
    source = value.source
    createdAt = value.createdAt
    isTruncated = value.isTruncated
    inReplyToTweetID = value.inReplyToTweetID
    inReplyToUserID = value.inReplyToUserID
    inReplyToScreenName = value.inReplyToScreenName
    user = KeyedUser(value.user)
    retweetCount = value.retweetCount
    favoriteCount = value.favoriteCount
    isFavorited = value.isFavorited
    isRetweeted = value.isRetweeted
    isPossiblySensitive = value.isPossiblySensitive
    language = value.language
    metadata = KeyedMetadata(value.metadata)
    hashtags = value.hashtags
    symbols = value.symbols
    links = value.links
    displayLinks = value.displayLinks
    mentionedNames = value.mentionedNames
    mentionedIDs = value.mentionedIDs
    mediaURLs = value.mediaURLs
    retweeted = value.retweeted.map { KeyedTweet($0, modelVersion: modelVersion) }
  }

  init?(coder: NSCoder) {
    id = coder.decodeInteger(forKey: "id")
    guard let idText = coder.decodeObject(of: [NSString.self], forKey: "idText") as? String else {
      return nil
    }
    self.idText = idText
    guard let text = coder.decodeObject(of: [NSString.self], forKey: "text") as? String else { return nil }
    self.text = text
    guard let source = coder.decodeObject(of: [NSString.self], forKey: "source") as? String else {
      return nil
    }
    self.source = source
    guard let createdAt = coder.decodeObject(of: [NSDate.self], forKey: "createdAt") as? Date else {
      return nil
    }
    self.createdAt = createdAt
    isTruncated = coder.decodeBool(forKey: "isTruncated")
    inReplyToTweetID = coder.decodeObject(of: NSNumber.self, forKey: "inReplyToTweetID")?.intValue
    inReplyToUserID = coder.decodeObject(of: NSNumber.self, forKey: "inReplyToUserID")?.intValue
    inReplyToScreenName = coder.decodeObject(of: [NSString.self], forKey: "inReplyToScreenName") as? String
    guard let user = coder.decodeObject(of: [KeyedUser.self], forKey: "user") as? KeyedUser else {
      return nil
    }
    self.user = user
    retweetCount = coder.decodeInteger(forKey: "retweetCount")
    favoriteCount = coder.decodeInteger(forKey: "favoriteCount")
    isFavorited = coder.decodeBool(forKey: "isFavorited")
    isRetweeted = coder.decodeBool(forKey: "isRetweeted")
    isPossiblySensitive = coder.decodeObject(of: NSNumber.self, forKey: "isPossiblySensitive")?.boolValue
    guard let language = coder.decodeObject(of: [NSString.self], forKey: "language") as? String else {
      return nil
    }
    self.language = language
    guard let metadata = coder.decodeObject(of: [KeyedMetadata.self], forKey: "metadata") as? KeyedMetadata
    else { return nil }
    self.metadata = metadata
    guard
      let hashtags = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "hashtags") as? [String]
    else { return nil }
    self.hashtags = hashtags
    guard let symbols = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "symbols") as? [String]
    else { return nil }
    self.symbols = symbols
    guard let links = coder.decodeObject(of: [NSArray.self, NSURL.self], forKey: "links") as? [URL] else {
      return nil
    }
    self.links = links
    guard
      let displayLinks = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "displayLinks")
        as? [String]
    else { return nil }
    self.displayLinks = displayLinks
    guard
      let mentionedNames = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "mentionedNames")
        as? [String]
    else { return nil }
    self.mentionedNames = mentionedNames
    guard
      let mentionedIDs = coder.decodeObject(of: [NSArray.self, NSNumber.self], forKey: "mentionedIDs")
        as? [Int]
    else { return nil }
    self.mentionedIDs = mentionedIDs
    guard let mediaURLs = coder.decodeObject(of: [NSArray.self, NSURL.self], forKey: "mediaURLs") as? [URL]
    else { return nil }
    self.mediaURLs = mediaURLs
    guard
      let retweeted = coder.decodeObject(of: [NSArray.self, KeyedTweet.self], forKey: "retweeted")
        as? [KeyedTweet]
    else { return nil }
    self.retweeted = retweeted
    modelVersion = nil
  }

  func encode(with coder: NSCoder) {
    coder.encode(id, forKey: "id")
    coder.encode(idText, forKey: "idText")
    coder.encode(text, forKey: "text")
    coder.encode(source, forKey: "source")
    coder.encode(createdAt, forKey: "createdAt")
    coder.encode(isTruncated, forKey: "isTruncated")
    coder.encode(inReplyToTweetID, forKey: "inReplyToTweetID")
    coder.encode(inReplyToUserID, forKey: "inReplyToUserID")
    coder.encode(inReplyToScreenName, forKey: "inReplyToScreenName")
    coder.encode(user, forKey: "user")
    coder.encode(retweetCount, forKey: "retweetCount")
    coder.encode(favoriteCount, forKey: "favoriteCount")
    coder.encode(isFavorited, forKey: "isFavorited")
    coder.encode(isRetweeted, forKey: "isRetweeted")
    coder.encode(isPossiblySensitive, forKey: "isPossiblySensitive")
    coder.encode(language, forKey: "language")
    coder.encode(metadata, forKey: "metadata")
    coder.encode(hashtags, forKey: "hashtags")
    coder.encode(symbols, forKey: "symbols")
    coder.encode(links, forKey: "links")
    coder.encode(displayLinks, forKey: "displayLinks")
    coder.encode(mentionedNames, forKey: "mentionedNames")
    coder.encode(mentionedIDs, forKey: "mentionedIDs")
    coder.encode(mediaURLs, forKey: "mediaURLs")
    coder.encode(retweeted, forKey: "retweeted")
    if let modelVersion { coder.encode(modelVersion, forKey: "MTLModelVersion") }
  }

  var value: Tweet {
    Tweet(
      id: id, idText: idText, text: text, source: source, createdAt: createdAt, isTruncated: isTruncated,
      inReplyToTweetID: inReplyToTweetID, inReplyToUserID: inReplyToUserID,
      inReplyToScreenName: inReplyToScreenName, user: user.value, retweetCount: retweetCount,
      favoriteCount: favoriteCount, isFavorited: isFavorited, isRetweeted: isRetweeted,
      isPossiblySensitive: isPossiblySensitive, language: language, metadata: metadata.value,
      hashtags: hashtags, symbols: symbols, links: links, displayLinks: displayLinks,
      mentionedNames: mentionedNames, mentionedIDs: mentionedIDs, mediaURLs: mediaURLs,
      retweeted: retweeted.map(\.value))
  }
}

final class KeyedSmall: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let id: Int
  let name: String
  let score: Double
  let isFlagged: Bool
  let createdAt: Date

  init(_ value: Small) {
    id = value.id
    name = value.name
    score = value.score
    isFlagged = value.isFlagged
    createdAt = value.createdAt
  }

  init?(coder: NSCoder) {
    id = coder.decodeInteger(forKey: "id")
    guard let name = coder.decodeObject(of: [NSString.self], forKey: "name") as? String else { return nil }
    self.name = name
    score = coder.decodeDouble(forKey: "score")
    isFlagged = coder.decodeBool(forKey: "isFlagged")
    guard let createdAt = coder.decodeObject(of: [NSDate.self], forKey: "createdAt") as? Date else {
      return nil
    }
    self.createdAt = createdAt
  }

  func encode(with coder: NSCoder) {
    coder.encode(id, forKey: "id")
    coder.encode(name, forKey: "name")
    coder.encode(score, forKey: "score")
    coder.encode(isFlagged, forKey: "isFlagged")
    coder.encode(createdAt, forKey: "createdAt")
  }

  var value: Small {
    Small(id: id, name: name, score: score, isFlagged: isFlagged, createdAt: createdAt)
  }
}
