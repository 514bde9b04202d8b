import Foundation
import Strata
import StrataTestSupport
import Testing

@Model(version: 1)
private struct MixedText: Equatable {
  var body: String
}

@Model(version: 2)
private struct MixedPicture: Equatable {
  @Field(json: "src") var url: URL
  var width: Int?
}

/// An element of a heterogeneous list: an enum whose cases contain different models.
@Model(version: 1)
private enum MixedBlock: Equatable, JSONTagged {
  case text(MixedText), picture(MixedPicture), rule

  static var jsonTagging: JSONTagging { .internal("type", names: ["img": "picture"]) }
}

@Model(version: 1)
private struct MixedArticle: Equatable {
  var blocks: [MixedBlock] = []
}

@Suite("Arrays of several model types")
struct MixedListTests {
  private static let json =
    #"{"blocks":[{"type":"text","body":"a"},{"type":"img","src":"https://a.example/p","width":3},{"type":"rule"}]}"#

  @Test("An enum of models is read, archived and written with the mapping of each model")
  func blocks() throws {
    let article = try MixedArticle(fromJSON: Data(Self.json.utf8))
    let url = try #require(URL(string: "https://a.example/p"))
    #expect(article.blocks == [.text(MixedText(body: "a")), .picture(MixedPicture(url: url, width: 3)), .rule])
    #expect(try String(decoding: article.jsonData(), as: UTF8.self) == Self.json)
    #expect(try archived(article) == article)
    let adapter = try JSONAdapter<MixedArticle>()
    #expect(try String(decoding: adapter.encode(article), as: UTF8.self) == Self.json)
    let error = archiveError { try MixedArticle(fromJSON: Data(#"{"blocks":[{"type":"text"}]}"#.utf8)) }
    #expect(error?.code == .missingValue && error?.pathDescription.hasPrefix("blocks[0]") == true)
  }
}
