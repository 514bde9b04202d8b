import Foundation
import SwiftProtobuf

// The messages for swift-protobuf, in the form that protoc-gen-swift 1.39 generates for proto3: heap storage for messages with
// more than 16 fields, comparison with the default for fields without presence, and optionals for `optional` fields. They are
// handwritten, because protoc isn't part of the toolchain. Protobuf has no URL and no date: URLs are `string`, and dates are
// `double` seconds since 2001, which needs less work than a Timestamp message.

struct ProtobufMetadata: Sendable {
  var resultType: String = String()
  var isoLanguageCode: String = String()

  var unknownFields = UnknownStorage()

  init() {}
}

extension ProtobufMetadata: Message, _MessageImplementationBase, _ProtoNameProviding {
  static let protoMessageName = "strata.Metadata"
  static let _protobuf_nameMap = _NameMap(
    bytecode: """
      \0\u{1}resultType\0\u{1}isoLanguageCode\0
      """)

  mutating func decodeMessage<D: Decoder>(decoder: inout D) throws {
    while let fieldNumber = try decoder.nextFieldNumber() {
      switch fieldNumber {
      case 1: try { try decoder.decodeSingularStringField(value: &self.resultType) }()
      case 2: try { try decoder.decodeSingularStringField(value: &self.isoLanguageCode) }()
      default: break
      }
    }
  }

  func traverse<V: Visitor>(visitor: inout V) throws {
    if !self.resultType.isEmpty {
      try visitor.visitSingularStringField(value: self.resultType, fieldNumber: 1)
    }
    if !self.isoLanguageCode.isEmpty {
      try visitor.visitSingularStringField(value: self.isoLanguageCode, fieldNumber: 2)
    }
    try unknownFields.traverse(visitor: &visitor)
  }

  static func == (lhs: ProtobufMetadata, rhs: ProtobufMetadata) -> Bool {
    if lhs.resultType != rhs.resultType { return false }
    if lhs.isoLanguageCode != rhs.isoLanguageCode { return false }
    return lhs.unknownFields == rhs.unknownFields
  }
}

extension ProtobufMetadata {
  init(_ value: Metadata) {
    resultType = value.resultType
    isoLanguageCode = value.isoLanguageCode
  }
}

struct ProtobufUser: @unchecked Sendable {
  var id: Int64 {
    get { _storage._id }
    set { _uniqueStorage()._id = newValue }
  }
  var name: String {
    get { _storage._name }
    set { _uniqueStorage()._name = newValue }
  }
  var screenName: String {
    get { _storage._screenName }
    set { _uniqueStorage()._screenName = newValue }
  }
  var location: String {
    get { _storage._location }
    set { _uniqueStorage()._location = newValue }
  }
  var description: String {
    get { _storage._description }
    set { _uniqueStorage()._description = newValue }
  }
  var url: String {
    get { _storage._url ?? String() }
    set { _uniqueStorage()._url = newValue }
  }
  var hasUrl: Bool { _storage._url != nil }
  var isProtected: Bool {
    get { _storage._isProtected }
    set { _uniqueStorage()._isProtected = newValue }
  }
  var followerCount: Int64 {
    get { _storage._followerCount }
    set { _uniqueStorage()._followerCount = newValue }
  }
  var friendCount: Int64 {
    get { _storage._friendCount }
    set { _uniqueStorage()._friendCount = newValue }
  }
  var listedCount: Int64 {
    get { _storage._listedCount }
    set { _uniqueStorage()._listedCount = newValue }
  }
  var createdAt: Double {
    get { _storage._createdAt }
    set { _uniqueStorage()._createdAt = newValue }
  }
  var favoriteCount: Int64 {
    get { _storage._favoriteCount }
    set { _uniqueStorage()._favoriteCount = newValue }
  }
  var utcOffset: Int64 {
    get { _storage._utcOffset ?? 0 }
    set { _uniqueStorage()._utcOffset = newValue }
  }
  var hasUtcOffset: Bool { _storage._utcOffset != nil }
  var timeZone: String {
    get { _storage._timeZone ?? String() }
    set { _uniqueStorage()._timeZone = newValue }
  }
  var hasTimeZone: Bool { _storage._timeZone != nil }
  var isGeoEnabled: Bool {
    get { _storage._isGeoEnabled }
    set { _uniqueStorage()._isGeoEnabled = newValue }
  }
  var isVerified: Bool {
    get { _storage._isVerified }
    set { _uniqueStorage()._isVerified = newValue }
  }
  var statusCount: Int64 {
    get { _storage._statusCount }
    set { _uniqueStorage()._statusCount = newValue }
  }
  var language: String {
    get { _storage._language }
    set { _uniqueStorage()._language = newValue }
  }
  var backgroundImageURL: String {
    get { _storage._backgroundImageURL }
    set { _uniqueStorage()._backgroundImageURL = newValue }
  }
  var profileImageURL: String {
    get { _storage._profileImageURL }
    set { _uniqueStorage()._profileImageURL = newValue }
  }
  var bannerURL: String {
    get { _storage._bannerURL ?? String() }
    set { _uniqueStorage()._bannerURL = newValue }
  }
  var hasBannerURL: Bool { _storage._bannerURL != nil }
  var linkColor: String {
    get { _storage._linkColor }
    set { _uniqueStorage()._linkColor = newValue }
  }

  var unknownFields = UnknownStorage()

  init() {}

  fileprivate var _storage = _StorageClass.defaultInstance
}

extension ProtobufUser: Message, _MessageImplementationBase, _ProtoNameProviding {
  static let protoMessageName = "strata.User"
  static let _protobuf_nameMap = _NameMap(
    bytecode: """
      \0\u{1}id\0\u{1}name\0\u{1}screenName\0\u{1}location\0\u{1}description\0\u{1}url\0\
      \u{1}isProtected\0\u{1}followerCount\0\u{1}friendCount\0\u{1}listedCount\0\u{1}createdAt\0\
      \u{1}favoriteCount\0\u{1}utcOffset\0\u{1}timeZone\0\u{1}isGeoEnabled\0\u{1}isVerified\0\
      \u{1}statusCount\0\u{1}language\0\u{1}backgroundImageURL\0\u{1}profileImageURL\0\
      \u{1}bannerURL\0\u{1}linkColor\0
      """)

  fileprivate class _StorageClass {
    var _id: Int64 = 0
    var _name: String = String()
    var _screenName: String = String()
    var _location: String = String()
    var _description: String = String()
    var _url: String?
    var _isProtected: Bool = false
    var _followerCount: Int64 = 0
    var _friendCount: Int64 = 0
    var _listedCount: Int64 = 0
    var _createdAt: Double = 0
    var _favoriteCount: Int64 = 0
    var _utcOffset: Int64?
    var _timeZone: String?
    var _isGeoEnabled: Bool = false
    var _isVerified: Bool = false
    var _statusCount: Int64 = 0
    var _language: String = String()
    var _backgroundImageURL: String = String()
    var _profileImageURL: String = String()
    var _bannerURL: String?
    var _linkColor: String = String()

    nonisolated(unsafe) static let defaultInstance = _StorageClass()

    private init() {}

    init(copying source: _StorageClass) {
      _id = source._id
      _name = source._name
      _screenName = source._screenName
      _location = source._location
      _description = source._description
      _url = source._url
      _isProtected = source._isProtected
      _followerCount = source._followerCount
      _friendCount = source._friendCount
      _listedCount = source._listedCount
      _createdAt = source._createdAt
      _favoriteCount = source._favoriteCount
      _utcOffset = source._utcOffset
      _timeZone = source._timeZone
      _isGeoEnabled = source._isGeoEnabled
      _isVerified = source._isVerified
      _statusCount = source._statusCount
      _language = source._language
      _backgroundImageURL = source._backgroundImageURL
      _profileImageURL = source._profileImageURL
      _bannerURL = source._bannerURL
      _linkColor = source._linkColor
    }
  }

  fileprivate mutating func _uniqueStorage() -> _StorageClass {
    if !isKnownUniquelyReferenced(&_storage) { _storage = _StorageClass(copying: _storage) }
    return _storage
  }

  mutating func decodeMessage<D: Decoder>(decoder: inout D) throws {
    _ = _uniqueStorage()
    try withExtendedLifetime(_storage) { (_storage: _StorageClass) in
      while let fieldNumber = try decoder.nextFieldNumber() {
        switch fieldNumber {
        case 1: try { try decoder.decodeSingularInt64Field(value: &_storage._id) }()
        case 2: try { try decoder.decodeSingularStringField(value: &_storage._name) }()
        case 3: try { try decoder.decodeSingularStringField(value: &_storage._screenName) }()
        case 4: try { try decoder.decodeSingularStringField(value: &_storage._location) }()
        case 5: try { try decoder.decodeSingularStringField(value: &_storage._description) }()
        case 6: try { try decoder.decodeSingularStringField(value: &_storage._url) }()
        case 7: try { try decoder.decodeSingularBoolField(value: &_storage._isProtected) }()
        case 8: try { try decoder.decodeSingularInt64Field(value: &_storage._followerCount) }()
        case 9: try { try decoder.decodeSingularInt64Field(value: &_storage._friendCount) }()
        case 10: try { try decoder.decodeSingularInt64Field(value: &_storage._listedCount) }()
        case 11: try { try decoder.decodeSingularDoubleField(value: &_storage._createdAt) }()
        case 12: try { try decoder.decodeSingularInt64Field(value: &_storage._favoriteCount) }()
        case 13: try { try decoder.decodeSingularInt64Field(value: &_storage._utcOffset) }()
        case 14: try { try decoder.decodeSingularStringField(value: &_storage._timeZone) }()
        case 15: try { try decoder.decodeSingularBoolField(value: &_storage._isGeoEnabled) }()
        case 16: try { try decoder.decodeSingularBoolField(value: &_storage._isVerified) }()
        case 17: try { try decoder.decodeSingularInt64Field(value: &_storage._statusCount) }()
        case 18: try { try decoder.decodeSingularStringField(value: &_storage._language) }()
        case 19: try { try decoder.decodeSingularStringField(value: &_storage._backgroundImageURL) }()
        case 20: try { try decoder.decodeSingularStringField(value: &_storage._profileImageURL) }()
        case 21: try { try decoder.decodeSingularStringField(value: &_storage._bannerURL) }()
        case 22: try { try decoder.decodeSingularStringField(value: &_storage._linkColor) }()
        default: break
        }
      }
    }
  }

  func traverse<V: Visitor>(visitor: inout V) throws {
    try withExtendedLifetime(_storage) { (_storage: _StorageClass) in
      if _storage._id != 0 { try visitor.visitSingularInt64Field(value: _storage._id, fieldNumber: 1) }
      if !_storage._name.isEmpty {
        try visitor.visitSingularStringField(value: _storage._name, fieldNumber: 2)
      }
      if !_storage._screenName.isEmpty {
        try visitor.visitSingularStringField(value: _storage._screenName, fieldNumber: 3)
      }
      if !_storage._location.isEmpty {
        try visitor.visitSingularStringField(value: _storage._location, fieldNumber: 4)
      }
      if !_storage._description.isEmpty {
        try visitor.visitSingularStringField(value: _storage._description, fieldNumber: 5)
      }
      try { if let v = _storage._url { try visitor.visitSingularStringField(value: v, fieldNumber: 6) } }()
      if _storage._isProtected != false {
        try visitor.visitSingularBoolField(value: _storage._isProtected, fieldNumber: 7)
      }
      if _storage._followerCount != 0 {
        try visitor.visitSingularInt64Field(value: _storage._followerCount, fieldNumber: 8)
      }
      if _storage._friendCount != 0 {
        try visitor.visitSingularInt64Field(value: _storage._friendCount, fieldNumber: 9)
      }
      if _storage._listedCount != 0 {
        try visitor.visitSingularInt64Field(value: _storage._listedCount, fieldNumber: 10)
      }
      if _storage._createdAt.bitPattern != 0 {
        try visitor.visitSingularDoubleField(value: _storage._createdAt, fieldNumber: 11)
      }
      if _storage._favoriteCount != 0 {
        try visitor.visitSingularInt64Field(value: _storage._favoriteCount, fieldNumber: 12)
      }
      try {
        if let v = _storage._utcOffset { try visitor.visitSingularInt64Field(value: v, fieldNumber: 13) }
      }()
      try {
        if let v = _storage._timeZone { try visitor.visitSingularStringField(value: v, fieldNumber: 14) }
      }()
      if _storage._isGeoEnabled != false {
        try visitor.visitSingularBoolField(value: _storage._isGeoEnabled, fieldNumber: 15)
      }
      if _storage._isVerified != false {
        try visitor.visitSingularBoolField(value: _storage._isVerified, fieldNumber: 16)
      }
      if _storage._statusCount != 0 {
        try visitor.visitSingularInt64Field(value: _storage._statusCount, fieldNumber: 17)
      }
      if !_storage._language.isEmpty {
        try visitor.visitSingularStringField(value: _storage._language, fieldNumber: 18)
      }
      if !_storage._backgroundImageURL.isEmpty {
        try visitor.visitSingularStringField(value: _storage._backgroundImageURL, fieldNumber: 19)
      }
      if !_storage._profileImageURL.isEmpty {
        try visitor.visitSingularStringField(value: _storage._profileImageURL, fieldNumber: 20)
      }
      try {
        if let v = _storage._bannerURL { try visitor.visitSingularStringField(value: v, fieldNumber: 21) }
      }()
      if !_storage._linkColor.isEmpty {
        try visitor.visitSingularStringField(value: _storage._linkColor, fieldNumber: 22)
      }
    }
    try unknownFields.traverse(visitor: &visitor)
  }

  static func == (lhs: ProtobufUser, rhs: ProtobufUser) -> Bool {
    if lhs._storage !== rhs._storage {
      let storagesAreEqual = withExtendedLifetime((lhs._storage, rhs._storage)) {
        (_args: (_StorageClass, _StorageClass)) in
        let _storage = _args.0
        let rhs_storage = _args.1
        if _storage._id != rhs_storage._id { return false }
        if _storage._name != rhs_storage._name { return false }
        if _storage._screenName != rhs_storage._screenName { return false }
        if _storage._location != rhs_storage._location { return false }
        if _storage._description != rhs_storage._description { return false }
        if _storage._url != rhs_storage._url { return false }
        if _storage._isProtected != rhs_storage._isProtected { return false }
        if _storage._followerCount != rhs_storage._followerCount { return false }
        if _storage._friendCount != rhs_storage._friendCount { return false }
        if _storage._listedCount != rhs_storage._listedCount { return false }
        if _storage._createdAt != rhs_storage._createdAt { return false }
        if _storage._favoriteCount != rhs_storage._favoriteCount { return false }
        if _storage._utcOffset != rhs_storage._utcOffset { return false }
        if _storage._timeZone != rhs_storage._timeZone { return false }
        if _storage._isGeoEnabled != rhs_storage._isGeoEnabled { return false }
        if _storage._isVerified != rhs_storage._isVerified { return false }
        if _storage._statusCount != rhs_storage._statusCount { return false }
        if _storage._language != rhs_storage._language { return false }
        if _storage._backgroundImageURL != rhs_storage._backgroundImageURL { return false }
        if _storage._profileImageURL != rhs_storage._profileImageURL { return false }
        if _storage._bannerURL != rhs_storage._bannerURL { return false }
        if _storage._linkColor != rhs_storage._linkColor { return false }
        return true
      }
      if !storagesAreEqual { return false }
    }
    return lhs.unknownFields == rhs.unknownFields
  }
}

extension ProtobufUser {
  init(_ value: User) {
    id = Int64(value.id)
    name = value.name
    screenName = value.screenName
    location = value.location
    description = value.description
    if let url = value.url { self.url = url.absoluteString }
    isProtected = value.isProtected
    followerCount = Int64(value.followerCount)
    friendCount = Int64(value.friendCount)
    listedCount = Int64(value.listedCount)
    createdAt = value.createdAt.timeIntervalSinceReferenceDate
    favoriteCount = Int64(value.favoriteCount)
    if let utcOffset = value.utcOffset { self.utcOffset = Int64(utcOffset) }
    if let timeZone = value.timeZone { self.timeZone = timeZone }
    isGeoEnabled = value.isGeoEnabled
    isVerified = value.isVerified
    statusCount = Int64(value.statusCount)
    language = value.language
    backgroundImageURL = value.backgroundImageURL.absoluteString
    profileImageURL = value.profileImageURL.absoluteString
    if let bannerURL = value.bannerURL { self.bannerURL = bannerURL.absoluteString }
    linkColor = value.linkColor
  }
}

struct ProtobufTweet: @unchecked Sendable {
  var id: Int64 {
    get { _storage._id }
    set { _uniqueStorage()._id = newValue }
  }
  var idText: String {
    get { _storage._idText }
    set { _uniqueStorage()._idText = newValue }
  }
  var text: String {
    get { _storage._text }
    set { _uniqueStorage()._text = newValue }
  }
  var source: String {
    get { _storage._source }
    set { _uniqueStorage()._source = newValue }
  }
  var createdAt: Double {
    get { _storage._createdAt }
    set { _uniqueStorage()._createdAt = newValue }
  }
  var isTruncated: Bool {
    get { _storage._isTruncated }
    set { _uniqueStorage()._isTruncated = newValue }
  }
  var inReplyToTweetID: Int64 {
    get { _storage._inReplyToTweetID ?? 0 }
    set { _uniqueStorage()._inReplyToTweetID = newValue }
  }
  var hasInReplyToTweetID: Bool { _storage._inReplyToTweetID != nil }
  var inReplyToUserID: Int64 {
    get { _storage._inReplyToUserID ?? 0 }
    set { _uniqueStorage()._inReplyToUserID = newValue }
  }
  var hasInReplyToUserID: Bool { _storage._inReplyToUserID != nil }
  var inReplyToScreenName: String {
    get { _storage._inReplyToScreenName ?? String() }
    set { _uniqueStorage()._inReplyToScreenName = newValue }
  }
  var hasInReplyToScreenName: Bool { _storage._inReplyToScreenName != nil }
  var user: ProtobufUser {
    get { _storage._user ?? ProtobufUser() }
    set { _uniqueStorage()._user = newValue }
  }
  var retweetCount: Int64 {
    get { _storage._retweetCount }
    set { _uniqueStorage()._retweetCount = newValue }
  }
  var favoriteCount: Int64 {
    get { _storage._favoriteCount }
    set { _uniqueStorage()._favoriteCount = newValue }
  }
  var isFavorited: Bool {
    get { _storage._isFavorited }
    set { _uniqueStorage()._isFavorited = newValue }
  }
  var isRetweeted: Bool {
    get { _storage._isRetweeted }
    set { _uniqueStorage()._isRetweeted = newValue }
  }
  var isPossiblySensitive: Bool {
    get { _storage._isPossiblySensitive ?? false }
    set { _uniqueStorage()._isPossiblySensitive = newValue }
  }
  var hasIsPossiblySensitive: Bool { _storage._isPossiblySensitive != nil }
  var language: String {
    get { _storage._language }
    set { _uniqueStorage()._language = newValue }
  }
  var metadata: ProtobufMetadata {
    get { _storage._metadata ?? ProtobufMetadata() }
    set { _uniqueStorage()._metadata = newValue }
  }
  var hashtags: [String] {
    get { _storage._hashtags }
    set { _uniqueStorage()._hashtags = newValue }
  }
  var symbols: [String] {
    get { _storage._symbols }
    set { _uniqueStorage()._symbols = newValue }
  }
  var links: [String] {
    get { _storage._links }
    set { _uniqueStorage()._links = newValue }
  }
  var displayLinks: [String] {
    get { _storage._displayLinks }
    set { _uniqueStorage()._displayLinks = newValue }
  }
  var mentionedNames: [String] {
    get { _storage._mentionedNames }
    set { _uniqueStorage()._mentionedNames = newValue }
  }
  var mentionedIDs: [Int64] {
    get { _storage._mentionedIDs }
    set { _uniqueStorage()._mentionedIDs = newValue }
  }
  var mediaURLs: [String] {
    get { _storage._mediaURLs }
    set { _uniqueStorage()._mediaURLs = newValue }
  }
  var retweeted: [ProtobufTweet] {
    get { _storage._retweeted }
    set { _uniqueStorage()._retweeted = newValue }
  }

  var unknownFields = UnknownStorage()

  init() {}

  fileprivate var _storage = _StorageClass.defaultInstance
}

extension ProtobufTweet: Message, _MessageImplementationBase, _ProtoNameProviding {
  static let protoMessageName = "strata.Tweet"
  static let _protobuf_nameMap = _NameMap(
    bytecode: """
      \0\u{1}id\0\u{1}idText\0\u{1}text\0\u{1}source\0\u{1}createdAt\0\u{1}isTruncated\0\
      \u{1}inReplyToTweetID\0\u{1}inReplyToUserID\0\u{1}inReplyToScreenName\0\u{1}user\0\
      \u{1}retweetCount\0\u{1}favoriteCount\0\u{1}isFavorited\0\u{1}isRetweeted\0\
      \u{1}isPossiblySensitive\0\u{1}language\0\u{1}metadata\0\u{1}hashtags\0\u{1}symbols\0\
      \u{1}links\0\u{1}displayLinks\0\u{1}mentionedNames\0\u{1}mentionedIDs\0\u{1}mediaURLs\0\
      \u{1}retweeted\0
      """)

  fileprivate class _StorageClass {
    var _id: Int64 = 0
    var _idText: String = String()
    var _text: String = String()
    var _source: String = String()
    var _createdAt: Double = 0
    var _isTruncated: Bool = false
    var _inReplyToTweetID: Int64?
    var _inReplyToUserID: Int64?
    var _inReplyToScreenName: String?
    var _user: ProtobufUser?
    var _retweetCount: Int64 = 0
    var _favoriteCount: Int64 = 0
    var _isFavorited: Bool = false
    var _isRetweeted: Bool = false
    var _isPossiblySensitive: Bool?
    var _language: String = String()
    var _metadata: ProtobufMetadata?
    var _hashtags: [String] = []
    var _symbols: [String] = []
    var _links: [String] = []
    var _displayLinks: [String] = []
    var _mentionedNames: [String] = []
    var _mentionedIDs: [Int64] = []
    var _mediaURLs: [String] = []
    var _retweeted: [ProtobufTweet] = []

    nonisolated(unsafe) static let defaultInstance = _StorageClass()

    private init() {}

    init(copying source: _StorageClass) {
      _id = source._id
      _idText = source._idText
      _text = source._text
      _source = source._source
      _createdAt = source._createdAt
      _isTruncated = source._isTruncated
      _inReplyToTweetID = source._inReplyToTweetID
      _inReplyToUserID = source._inReplyToUserID
      _inReplyToScreenName = source._inReplyToScreenName
      _user = source._user
      _retweetCount = source._retweetCount
      _favoriteCount = source._favoriteCount
      _isFavorited = source._isFavorited
      _isRetweeted = source._isRetweeted
      _isPossiblySensitive = source._isPossiblySensitive
      _language = source._language
      _metadata = source._metadata
      _hashtags = source._hashtags
      _symbols = source._symbols
      _links = source._links
      _displayLinks = source._displayLinks
      _mentionedNames = source._mentionedNames
      _mentionedIDs = source._mentionedIDs
      _mediaURLs = source._mediaURLs
      _retweeted = source._retweeted
    }
  }

  fileprivate mutating func _uniqueStorage() -> _StorageClass {
    if !isKnownUniquelyReferenced(&_storage) { _storage = _StorageClass(copying: _storage) }
    return _storage
  }

  mutating func decodeMessage<D: Decoder>(decoder: inout D) throws {
    _ = _uniqueStorage()
    try withExtendedLifetime(_storage) { (_storage: _StorageClass) in
      while let fieldNumber = try decoder.nextFieldNumber() {
        switch fieldNumber {
        case 1: try { try decoder.decodeSingularInt64Field(value: &_storage._id) }()
        case 2: try { try decoder.decodeSingularStringField(value: &_storage._idText) }()
        case 3: try { try decoder.decodeSingularStringField(value: &_storage._text) }()
        case 4: try { try decoder.decodeSingularStringField(value: &_storage._source) }()
        case 5: try { try decoder.decodeSingularDoubleField(value: &_storage._createdAt) }()
        case 6: try { try decoder.decodeSingularBoolField(value: &_storage._isTruncated) }()
        case 7: try { try decoder.decodeSingularInt64Field(value: &_storage._inReplyToTweetID) }()
        case 8: try { try decoder.decodeSingularInt64Field(value: &_storage._inReplyToUserID) }()
        case 9: try { try decoder.decodeSingularStringField(value: &_storage._inReplyToScreenName) }()
        case 10: try { try decoder.decodeSingularMessageField(value: &_storage._user) }()
        case 11: try { try decoder.decodeSingularInt64Field(value: &_storage._retweetCount) }()
        case 12: try { try decoder.decodeSingularInt64Field(value: &_storage._favoriteCount) }()
        case 13: try { try decoder.decodeSingularBoolField(value: &_storage._isFavorited) }()
        case 14: try { try decoder.decodeSingularBoolField(value: &_storage._isRetweeted) }()
        case 15: try { try decoder.decodeSingularBoolField(value: &_storage._isPossiblySensitive) }()
        case 16: try { try decoder.decodeSingularStringField(value: &_storage._language) }()
        case 17: try { try decoder.decodeSingularMessageField(value: &_storage._metadata) }()
        case 18: try { try decoder.decodeRepeatedStringField(value: &_storage._hashtags) }()
        case 19: try { try decoder.decodeRepeatedStringField(value: &_storage._symbols) }()
        case 20: try { try decoder.decodeRepeatedStringField(value: &_storage._links) }()
        case 21: try { try decoder.decodeRepeatedStringField(value: &_storage._displayLinks) }()
        case 22: try { try decoder.decodeRepeatedStringField(value: &_storage._mentionedNames) }()
        case 23: try { try decoder.decodeRepeatedInt64Field(value: &_storage._mentionedIDs) }()
        case 24: try { try decoder.decodeRepeatedStringField(value: &_storage._mediaURLs) }()
        case 25: try { try decoder.decodeRepeatedMessageField(value: &_storage._retweeted) }()
        default: break
        }
      }
    }
  }

  func traverse<V: Visitor>(visitor: inout V) throws {
    try withExtendedLifetime(_storage) { (_storage: _StorageClass) in
      if _storage._id != 0 { try visitor.visitSingularInt64Field(value: _storage._id, fieldNumber: 1) }
      if !_storage._idText.isEmpty {
        try visitor.visitSingularStringField(value: _storage._idText, fieldNumber: 2)
      }
      if !_storage._text.isEmpty {
        try visitor.visitSingularStringField(value: _storage._text, fieldNumber: 3)
      }
      if !_storage._source.isEmpty {
        try visitor.visitSingularStringField(value: _storage._source, fieldNumber: 4)
      }
      if _storage._createdAt.bitPattern != 0 {
        try visitor.visitSingularDoubleField(value: _storage._createdAt, fieldNumber: 5)
      }
      if _storage._isTruncated != false {
        try visitor.visitSingularBoolField(value: _storage._isTruncated, fieldNumber: 6)
      }
      try {
        if let v = _storage._inReplyToTweetID {
          try visitor.visitSingularInt64Field(value: v, fieldNumber: 7)
        }
      }()
      try {
        if let v = _storage._inReplyToUserID { try visitor.visitSingularInt64Field(value: v, fieldNumber: 8) }
      }()
      try {
        if let v = _storage._inReplyToScreenName {
          try visitor.visitSingularStringField(value: v, fieldNumber: 9)
        }
      }()
      try { if let v = _storage._user { try visitor.visitSingularMessageField(value: v, fieldNumber: 10) } }()
      if _storage._retweetCount != 0 {
        try visitor.visitSingularInt64Field(value: _storage._retweetCount, fieldNumber: 11)
      }
      if _storage._favoriteCount != 0 {
        try visitor.visitSingularInt64Field(value: _storage._favoriteCount, fieldNumber: 12)
      }
      if _storage._isFavorited != false {
        try visitor.visitSingularBoolField(value: _storage._isFavorited, fieldNumber: 13)
      }
      if _storage._isRetweeted != false {
        try visitor.visitSingularBoolField(value: _storage._isRetweeted, fieldNumber: 14)
      }
      try {
        if let v = _storage._isPossiblySensitive {
          try visitor.visitSingularBoolField(value: v, fieldNumber: 15)
        }
      }()
      if !_storage._language.isEmpty {
        try visitor.visitSingularStringField(value: _storage._language, fieldNumber: 16)
      }
      try {
        if let v = _storage._metadata { try visitor.visitSingularMessageField(value: v, fieldNumber: 17) }
      }()
      if !_storage._hashtags.isEmpty {
        try visitor.visitRepeatedStringField(value: _storage._hashtags, fieldNumber: 18)
      }
      if !_storage._symbols.isEmpty {
        try visitor.visitRepeatedStringField(value: _storage._symbols, fieldNumber: 19)
      }
      if !_storage._links.isEmpty {
        try visitor.visitRepeatedStringField(value: _storage._links, fieldNumber: 20)
      }
      if !_storage._displayLinks.isEmpty {
        try visitor.visitRepeatedStringField(value: _storage._displayLinks, fieldNumber: 21)
      }
      if !_storage._mentionedNames.isEmpty {
        try visitor.visitRepeatedStringField(value: _storage._mentionedNames, fieldNumber: 22)
      }
      if !_storage._mentionedIDs.isEmpty {
        try visitor.visitPackedInt64Field(value: _storage._mentionedIDs, fieldNumber: 23)
      }
      if !_storage._mediaURLs.isEmpty {
        try visitor.visitRepeatedStringField(value: _storage._mediaURLs, fieldNumber: 24)
      }
      if !_storage._retweeted.isEmpty {
        try visitor.visitRepeatedMessageField(value: _storage._retweeted, fieldNumber: 25)
      }
    }
    try unknownFields.traverse(visitor: &visitor)
  }

  static func == (lhs: ProtobufTweet, rhs: ProtobufTweet) -> Bool {
    if lhs._storage !== rhs._storage {
      let storagesAreEqual = withExtendedLifetime((lhs._storage, rhs._storage)) {
        (_args: (_StorageClass, _StorageClass)) in
        let _storage = _args.0
        let rhs_storage = _args.1
        if _storage._id != rhs_storage._id { return false }
        if _storage._idText != rhs_storage._idText { return false }
        if _storage._text != rhs_storage._text { return false }
        if _storage._source != rhs_storage._source { return false }
        if _storage._createdAt != rhs_storage._createdAt { return false }
        if _storage._isTruncated != rhs_storage._isTruncated { return false }
        if _storage._inReplyToTweetID != rhs_storage._inReplyToTweetID { return false }
        if _storage._inReplyToUserID != rhs_storage._inReplyToUserID { return false }
        if _storage._inReplyToScreenName != rhs_storage._inReplyToScreenName { return false }
        if _storage._user != rhs_storage._user { return false }
        if _storage._retweetCount != rhs_storage._retweetCount { return false }
        if _storage._favoriteCount != rhs_storage._favoriteCount { return false }
        if _storage._isFavorited != rhs_storage._isFavorited { return false }
        if _storage._isRetweeted != rhs_storage._isRetweeted { return false }
        if _storage._isPossiblySensitive != rhs_storage._isPossiblySensitive { return false }
        if _storage._language != rhs_storage._language { return false }
        if _storage._metadata != rhs_storage._metadata { return false }
        if _storage._hashtags != rhs_storage._hashtags { return false }
        if _storage._symbols != rhs_storage._symbols { return false }
        if _storage._links != rhs_storage._links { return false }
        if _storage._displayLinks != rhs_storage._displayLinks { return false }
        if _storage._mentionedNames != rhs_storage._mentionedNames { return false }
        if _storage._mentionedIDs != rhs_storage._mentionedIDs { return false }
        if _storage._mediaURLs != rhs_storage._mediaURLs { return false }
        if _storage._retweeted != rhs_storage._retweeted { return false }
        return true
      }
      if !storagesAreEqual { return false }
    }
    return lhs.unknownFields == rhs.unknownFields
  }
}

extension ProtobufTweet {
  init(_ value: Tweet) {
    id = Int64(value.id)
    idText = value.idText
    text = value.text
    source = value.source
    createdAt = value.createdAt.timeIntervalSinceReferenceDate
    isTruncated = value.isTruncated
    if let inReplyToTweetID = value.inReplyToTweetID { self.inReplyToTweetID = Int64(inReplyToTweetID) }
    if let inReplyToUserID = value.inReplyToUserID { self.inReplyToUserID = Int64(inReplyToUserID) }
    if let inReplyToScreenName = value.inReplyToScreenName { self.inReplyToScreenName = inReplyToScreenName }
    user = ProtobufUser(value.user)
    retweetCount = Int64(value.retweetCount)
    favoriteCount = Int64(value.favoriteCount)
    isFavorited = value.isFavorited
    isRetweeted = value.isRetweeted
    if let isPossiblySensitive = value.isPossiblySensitive { self.isPossiblySensitive = isPossiblySensitive }
    language = value.language
    metadata = ProtobufMetadata(value.metadata)
    hashtags = value.hashtags
    symbols = value.symbols
    links = value.links.map(\.absoluteString)
    displayLinks = value.displayLinks
    mentionedNames = value.mentionedNames
    mentionedIDs = value.mentionedIDs.map { Int64($0) }
    mediaURLs = value.mediaURLs.map(\.absoluteString)
    retweeted = value.retweeted.map { ProtobufTweet($0) }
  }
}

struct ProtobufSmall: Sendable {
  var id: Int64 = 0
  var name: String = String()
  var score: Double = 0
  var isFlagged: Bool = false
  var createdAt: Double = 0

  var unknownFields = UnknownStorage()

  init() {}
}

extension ProtobufSmall: Message, _MessageImplementationBase, _ProtoNameProviding {
  static let protoMessageName = "strata.Small"
  static let _protobuf_nameMap = _NameMap(
    bytecode: """
      \0\u{1}id\0\u{1}name\0\u{1}score\0\u{1}isFlagged\0\u{1}createdAt\0
      """)

  mutating func decodeMessage<D: Decoder>(decoder: inout D) throws {
    while let fieldNumber = try decoder.nextFieldNumber() {
      switch fieldNumber {
      case 1: try { try decoder.decodeSingularInt64Field(value: &self.id) }()
      case 2: try { try decoder.decodeSingularStringField(value: &self.name) }()
      case 3: try { try decoder.decodeSingularDoubleField(value: &self.score) }()
      case 4: try { try decoder.decodeSingularBoolField(value: &self.isFlagged) }()
      case 5: try { try decoder.decodeSingularDoubleField(value: &self.createdAt) }()
      default: break
      }
    }
  }

  func traverse<V: Visitor>(visitor: inout V) throws {
    if self.id != 0 { try visitor.visitSingularInt64Field(value: self.id, fieldNumber: 1) }
    if !self.name.isEmpty { try visitor.visitSingularStringField(value: self.name, fieldNumber: 2) }
    if self.score.bitPattern != 0 { try visitor.visitSingularDoubleField(value: self.score, fieldNumber: 3) }
    if self.isFlagged != false { try visitor.visitSingularBoolField(value: self.isFlagged, fieldNumber: 4) }
    if self.createdAt.bitPattern != 0 {
      try visitor.visitSingularDoubleField(value: self.createdAt, fieldNumber: 5)
    }
    try unknownFields.traverse(visitor: &visitor)
  }

  static func == (lhs: ProtobufSmall, rhs: ProtobufSmall) -> Bool {
    if lhs.id != rhs.id { return false }
    if lhs.name != rhs.name { return false }
    if lhs.score != rhs.score { return false }
    if lhs.isFlagged != rhs.isFlagged { return false }
    if lhs.createdAt != rhs.createdAt { return false }
    return lhs.unknownFields == rhs.unknownFields
  }
}

extension ProtobufSmall {
  init(_ value: Small) {
    id = Int64(value.id)
    name = value.name
    score = value.score
    isFlagged = value.isFlagged
    createdAt = value.createdAt.timeIntervalSinceReferenceDate
  }
}

struct ProtobufTweetList: Sendable {
  var tweets: [ProtobufTweet] = []

  var unknownFields = UnknownStorage()

  init() {}
}

extension ProtobufTweetList: Message, _MessageImplementationBase, _ProtoNameProviding {
  static let protoMessageName = "strata.TweetList"
  static let _protobuf_nameMap = _NameMap(
    bytecode: """
      \0\u{1}tweets\0
      """)

  mutating func decodeMessage<D: Decoder>(decoder: inout D) throws {
    while let fieldNumber = try decoder.nextFieldNumber() {
      switch fieldNumber {
      case 1: try { try decoder.decodeRepeatedMessageField(value: &self.tweets) }()
      default: break
      }
    }
  }

  func traverse<V: Visitor>(visitor: inout V) throws {
    if !self.tweets.isEmpty { try visitor.visitRepeatedMessageField(value: self.tweets, fieldNumber: 1) }
    try unknownFields.traverse(visitor: &visitor)
  }

  static func == (lhs: ProtobufTweetList, rhs: ProtobufTweetList) -> Bool {
    if lhs.tweets != rhs.tweets { return false }
    return lhs.unknownFields == rhs.unknownFields
  }
}

struct ProtobufSmallList: Sendable {
  var models: [ProtobufSmall] = []

  var unknownFields = UnknownStorage()

  init() {}
}

extension ProtobufSmallList: Message, _MessageImplementationBase, _ProtoNameProviding {
  static let protoMessageName = "strata.SmallList"
  static let _protobuf_nameMap = _NameMap(
    bytecode: """
      \0\u{1}models\0
      """)

  mutating func decodeMessage<D: Decoder>(decoder: inout D) throws {
    while let fieldNumber = try decoder.nextFieldNumber() {
      switch fieldNumber {
      case 1: try { try decoder.decodeRepeatedMessageField(value: &self.models) }()
      default: break
      }
    }
  }

  func traverse<V: Visitor>(visitor: inout V) throws {
    if !self.models.isEmpty { try visitor.visitRepeatedMessageField(value: self.models, fieldNumber: 1) }
    try unknownFields.traverse(visitor: &visitor)
  }

  static func == (lhs: ProtobufSmallList, rhs: ProtobufSmallList) -> Bool {
    if lhs.models != rhs.models { return false }
    return lhs.unknownFields == rhs.unknownFields
  }
}
