package import Foundation
package import StrataCore
import StrataLegacy

/// The checks that the fuzzer runs, by their names on its command line. Each must hold for any bytes.
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

  /// Returns the result of `body`, or `nil` if it throws an `ArchiveError`. Any other error is a failure.
  package static func attempt<T>(
    _ body: () throws -> T, where isRight: (ArchiveError) -> Bool = { _ in true }
  ) throws -> T? {
    do { return try body() } catch let error as ArchiveError {
      try require(isRight(error), "an error is as it must be: \(error)")
      return nil
    } catch { throw TrialFailure("an error of somebody else's: \(error)") }
  }
}

/// A condition that did not hold.
package struct TrialFailure: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

/// Throws a failure unless the condition holds. `text` describes the condition.
package func require(_ condition: @autoclosure () throws -> Bool, _ text: String) throws {
  guard try condition() else { throw TrialFailure("does not hold: \(text)") }
}

/// Returns the result of `body`, which must not throw. `text` describes the operation.
package func succeed<T>(_ text: String, _ body: () throws -> T) throws -> T {
  do { return try body() } catch { throw TrialFailure("does not hold: \(text): \(error)") }
}
