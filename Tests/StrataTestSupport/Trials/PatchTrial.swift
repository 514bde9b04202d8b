package import Foundation
import StrataCore

/// Applies a JSON Patch and a merge patch to any document. The results are compared, written and read again.
package enum PatchTrial {
  package static func run(_ data: Data) throws {
    guard let all = try Trial.attempt({ try JSONReader().read(data) }), let document = all["document"] else { return }
    var results: [ArchiveValue] = []
    if let operations = all["patch"],
      let patch = try Trial.attempt({ try JSONPatch(parsing: JSONWriter().write(operations)) }),
      let result = try Trial.attempt({ try patch.applied(to: document) })
    {
      results.append(result)
    }
    if let patch = all["merge"] { results.append(JSONMergePatch.apply(patch, to: document)) }
    for result in results {
      try require(result == result || result.hash == result.hash, "a result has a hash")
      guard let text = try Trial.attempt({ try JSONWriter().write(result) }) else { continue }
      try require(try JSONReader().read(text) == result, "a result comes back")
      let difference = ValueDifference(from: document, to: result)
      try require(difference.changes.isEmpty == (document == result), "a difference tells whether anything changed")
    }
  }
}

extension ArchiveValue {
  fileprivate var hash: Int { hashValue }
}
