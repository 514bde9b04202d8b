package import Foundation
package import StrataCore
import StrataLegacy

/// What the fuzzer runs, by the name that its command line gives. Each must hold for any bytes at all.
package enum Trial: String, CaseIterable {
  case json, plist, keyed, archive, stream, patch

  package func run(_ data: Data) throws {
    switch self {
    case .json: try JSONTrial.run(data)
    case .plist: try PropertyListTrial.run(data)
    case .keyed: try KeyedTrial.run(data)
    case .archive: try ArchiveTrial.run(data)
    case .stream: try StreamTrial.run(data)
    case .patch: try PatchTrial.run(data)
    }
  }

  /// The result, or `nil` where there is an error of ours; any other error is a fault.
  package static func attempt<T>(
    _ body: () throws -> T, where isRight: (ArchiveError) -> Bool = { _ in true }
  ) throws -> T? {
    do { return try body() } catch let error as ArchiveError {
      try require(isRight(error), "an error is as it must be: \(error)")
      return nil
    } catch { throw TrialFailure("an error of somebody else's: \(error)") }
  }
}

/// What did not hold.
package struct TrialFailure: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

/// Fails unless what the text says is so.
package func require(_ condition: @autoclosure () throws -> Bool, _ text: String) throws {
  guard try condition() else { throw TrialFailure("does not hold: \(text)") }
}

/// The result of what may not fail.
package func succeed<T>(_ text: String, _ body: () throws -> T) throws -> T {
  do { return try body() } catch { throw TrialFailure("does not hold: \(text): \(error)") }
}
