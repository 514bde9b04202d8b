internal import Foundation
internal import StrataCore
internal import StrataRemote

/// Checks the content of a request that changes a record.
struct ContentCheck {
  let request: HTTPRequest

  init(_ request: HTTPRequest) { self.request = request }

  private var types: [String] {
    request.method == "PATCH" ? ["application/merge-patch+json", "application/json"] : ["application/json"]
  }

  /// Checks the size and the media type, without reading the content.
  ///
  /// - Throws: ``Problem`` if the content is too large or its type is not JSON.
  func run(sizeLimit: Int) throws {
    guard request.body?.count ?? 0 <= sizeLimit else {
      throw Problem(413, "the content has more than \(sizeLimit) bytes; fewer are needed")
    }
    guard request.method != "DELETE" else { return }
    let type = request.headers["Content-Type"]?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
    let coding = request.headers["Content-Encoding"]?.lowercased() ?? "identity"
    guard let type, types.contains(type.lowercased()), coding == "identity" else {
      let names = types.joined(separator: ", ")
      throw Problem(
        415, "the content is not of a type that is read here; \(names) is, without a content coding",
        headers: [request.method == "PATCH" ? "Accept-Patch" : "Accept": names])
    }
  }

  /// The content as an object.
  ///
  /// - Throws: ``Problem`` if the content isn't JSON, or isn't an object.
  func object() throws -> ArchiveObject {
    let value: ArchiveValue
    // If a key occurs twice, the intended value is unknown, so the content is rejected.
    do { value = try JSONReader.refusingDuplicates().read(request.body ?? Data()) } catch {
      throw Problem(400, "the content cannot be read: \(ServeError.message(of: error))")
    }
    guard case .object(let object) = value else {
      throw Problem(422, "the content is \(value.kind.withArticle); an object is needed")
    }
    return object
  }
}
