import Foundation
import Strata

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// Recipes:begin ConditionalFetch
/// The server's answer to a request with a tag.
enum ConditionalAnswer: Sendable, Equatable {
  /// The document is the one with the tag.
  case notModified
  case document(Data, tag: String?)
}

extension URLSession {
  /// Asks for a JSON document.
  ///
  /// - Parameter tag: the tag of the known state; `nil` if none is known.
  /// - Throws: ``FetchError`` for another status than 200, and 304 where a tag was sent; `URLError`.
  func answer(from url: URL, unless tag: String?) async throws -> ConditionalAnswer {
    var request = URLRequest(url: url)
    // A cache of the session would answer in the server's place while its copy is fresh.
    request.cachePolicy = .reloadIgnoringLocalCacheData
    request.setValue("application/json", forHTTPHeaderField: "Accept")
    if let tag { request.setValue(tag, forHTTPHeaderField: "If-None-Match") }
    let (body, response) = try await data(for: request)
    guard let response = response as? HTTPURLResponse else { throw FetchError(status: nil) }
    switch response.statusCode {
    case 200: return .document(body, tag: response.value(forHTTPHeaderField: "ETag"))
    case 304 where tag != nil: return .notModified
    default: throw FetchError(status: response.statusCode)
    }
  }
}

/// A model that a server has too, and the tag of the server's state that was merged last.
struct Fetched<M: VersionedModel> {
  var model: M
  private(set) var tag: String?

  init(_ model: M, tag: String? = nil) { (self.model, self.tag) = (model, tag) }

  /// Merges the server's answer: only the keys that it sent, all or nothing.
  ///
  /// - Returns: what changed; `nil` where the server has what was merged last.
  /// - Throws: `ArchiveError` where the document does not fit the model; model and tag are as before then.
  mutating func merge(_ answer: ConditionalAnswer) throws -> MergeReport? {
    guard case .document(let body, let newTag) = answer else { return nil }
    let report = try model.mergeValues(fromJSON: body)
    // After the merge: with the tag of a document that was refused, the next answer would be 304, and the document lost.
    tag = newTag
    return report
  }
}

extension Fetched: Sendable where M: Sendable {}

/// The server answers with something that is no document.
struct FetchError: Error, CustomStringConvertible {
  /// The status; `nil` where the answer did not come by HTTP.
  let status: Int?

  var description: String {
    guard let status else { return "the answer did not come by HTTP; the URL must begin with https: or http:" }
    return "the server answers with status \(status); 200 with a body is expected, or 304 where a tag was sent"
  }
}
// Recipes:end

// Recipes:begin ConditionalFetch.screen
@Model(version: 1)
struct Article: Equatable {
  let id: Int
  var title: String
  var note: String?
}

/// An article that is shown and edited.
@MainActor
final class ArticleScreen {
  private let url: URL
  private(set) var article: Fetched<Article>

  init(_ article: Article, at url: URL) { (self.article, self.url) = (Fetched(article), url) }

  func edit(_ change: (inout Article) -> Void) { change(&article.model) }

  @discardableResult
  func refresh(in session: URLSession = .shared) async throws -> MergeReport? {
    let answer = try await session.answer(from: url, unless: article.tag)
    // Into the article as it is now: what was edited while the server answered is kept, but for the keys that the answer has.
    return try article.merge(answer)
  }
}
// Recipes:end
