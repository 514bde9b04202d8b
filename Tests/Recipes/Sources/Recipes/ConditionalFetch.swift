import Foundation
import Strata

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// Recipes:begin ConditionalFetch
/// A model that a server has too, and the tag of the server's state that was merged last.
struct Fetched<M: VersionedModel> {
  private(set) var model: M
  private(set) var tag: String?

  init(_ model: M, tag: String? = nil) { (self.model, self.tag) = (model, tag) }

  /// Asks the server, and merges what it says: only the keys that it sent, all or nothing.
  ///
  /// - Returns: what the merge changed; `nil` where the server has what was merged last.
  /// - Throws: `FetchError` for another status than 200 and 304, `ArchiveError` where the body does not fit the model, and
  ///   `URLError`. Nothing has changed then.
  mutating func refresh(from url: URL, in session: URLSession = .shared) async throws -> MergeReport? {
    var request = URLRequest(url: url)
    // A cache of the session would answer in the server's place while its copy is fresh, and what is known would be merged again.
    request.cachePolicy = .reloadIgnoringLocalCacheData
    request.setValue("application/json", forHTTPHeaderField: "Accept")
    if let tag { request.setValue(tag, forHTTPHeaderField: "If-None-Match") }
    let (body, response) = try await session.data(for: request)
    guard let response = response as? HTTPURLResponse else { throw FetchError(status: nil) }
    switch response.statusCode {
    case 200:
      let report = try model.mergeValues(fromJSON: body)
      // After the merge: with the tag of an answer that was refused, the next one would be 304, and the refused one lost.
      tag = response.value(forHTTPHeaderField: "ETag")
      return report
    case 304 where tag != nil: return nil
    default: throw FetchError(status: response.statusCode)
    }
  }
}

extension Fetched: Sendable where M: Sendable {}

/// The server answers with something that is no model.
struct FetchError: Error, CustomStringConvertible {
  /// The status; `nil` where the answer did not come by HTTP.
  let status: Int?

  var description: String {
    guard let status else { return "the answer did not come by HTTP; the URL must begin with https: or http:" }
    return "the server answers with status \(status); 200 with a body is expected, or 304 where a tag was sent"
  }
}
// Recipes:end
