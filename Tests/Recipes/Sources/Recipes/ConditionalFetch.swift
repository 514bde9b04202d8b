import Foundation
import Strata

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// Recipes:begin ConditionalFetch
/// The server's response to a request with an ETag.
enum ConditionalAnswer: Sendable, Equatable {
  /// The document still has the ETag of the request.
  case notModified
  case document(Data, tag: String?)
}

extension URLSession {
  /// Requests a JSON document.
  ///
  /// - Parameter tag: the ETag of the last known state of the document; `nil` if no state is known.
  /// - Throws: ``FetchError`` if the status is neither 200 nor 304, or if it is 304 although no ETag was sent; `URLError` if the
  ///   request fails.
  func answer(from url: URL, unless tag: String?) async throws -> ConditionalAnswer {
    var request = URLRequest(url: url)
    // Otherwise, the cache of the session would respond instead of the server while its copy is fresh.
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

/// A model of a document on a server, and the ETag of the server's state that was merged last.
struct Fetched<M: VersionedModel> {
  var model: M
  private(set) var tag: String?

  init(_ model: M, tag: String? = nil) { (self.model, self.tag) = (model, tag) }

  /// Merges the server's response. Only the keys in the document are merged, and either all of them are merged or none.
  ///
  /// - Returns: a report of the changes; `nil` if the document has not changed since the last merge.
  /// - Throws: `ArchiveError` if the document does not fit the model. The model and the ETag are then unchanged.
  mutating func merge(_ answer: ConditionalAnswer) throws -> MergeReport? {
    guard case .document(let body, let newTag) = answer else { return nil }
    let report = try model.mergeValues(fromJSON: body)
    // The ETag is stored after the merge. If the ETag of a refused document were stored, the next response would be 304, and the
    // document would be lost.
    tag = newTag
    return report
  }
}

extension Fetched: Sendable where M: Sendable {}

/// An error that is thrown if the server's response contains no document.
struct FetchError: Error, CustomStringConvertible {
  /// The status; `nil` if the response is not an HTTP response.
  let status: Int?

  var description: String {
    guard let status else { return "the response is not an HTTP response; the URL must begin with https: or http:" }
    return "the server responded with status \(status); expected 200 with a body, or 304 if an ETag was sent"
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

/// A screen that shows an article, which the user can edit.
@MainActor
final class ArticleScreen {
  private let url: URL
  private(set) var article: Fetched<Article>

  init(_ article: Article, at url: URL) { (self.article, self.url) = (Fetched(article), url) }

  func edit(_ change: (inout Article) -> Void) { change(&article.model) }

  @discardableResult
  func refresh(in session: URLSession = .shared) async throws -> MergeReport? {
    let answer = try await session.answer(from: url, unless: article.tag)
    // The article already contains the edits that were made during the request. The merge keeps them, except for the keys that
    // the response contains.
    return try article.merge(answer)
  }
}
// Recipes:end
