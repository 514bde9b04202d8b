import Foundation
import StrataTestSupport
import Testing

extension EndToEnd {
  @Suite struct ExitCodes {
    /// A command that fails.
    struct Failure: CustomTestStringConvertible, Sendable {
      let name: String
      let code: Int32
      let arguments: [String]

      init(_ name: String, _ code: Int32, _ arguments: String...) {
        self.name = name
        self.code = code
        self.arguments = arguments
      }

      var testDescription: String { name }
    }

    /// Creates the workspace in which the failing command runs.
    private func makeWorkspace(_ failure: Failure) throws -> Workspace {
      let workspace = try Workspace()
      let scratch = workspace.scratch
      try workspace.makeMergeSides()
      try workspace.copy(Repository.fixtures.appending(path: "legacy"), to: "old")
      try workspace.copy(Repository.fixtures.appending(path: "damaged/truncated.strata"), to: "cut.strata")
      _ = try scratch.file("empty", "")
      _ = try scratch.file("array.json", "[1]")
      if failure.arguments.first == "store" {
        // These commands run in this process, which is quicker. The `Stores` suite runs them with the executable.
        let store = scratch.path("models.store")
        #expect(Run("store", "init", store).code == 0)
        for side in ["base", "server"] {
          #expect(Run("store", "save", store, "base", scratch.path("\(side).json")).code == 0)
        }
      }
      return workspace
    }

    @Test(
      "A failed command returns its exit code and prints one line on standard error",
      arguments: [
        Failure("missing file", 1, "inspect", "none"),
        Failure("folder", 1, "decode", "."),
        Failure("empty file", 1, "decode", "empty"),
        Failure("other format", 1, "inspect", "array.json"),
        Failure("tour of something else", 1, "tour", "array.json"),
        Failure("output that cannot be written", 1, "encode", "base.json", "-o", "none/a.strata"),
        Failure("convert into the folder itself", 1, "convert", "old", "-o", "old/new"),
        Failure("convert over the original", 1, "convert", "old/bookmarks.plist", "-o", "old/bookmarks.plist"),
        Failure("convert something else", 1, "convert", "array.json", "-o", "array.strata"),
        Failure("compare with something missing", 2, "diff", "none", "array.json"),
        Failure("merge with something damaged", 2, "merge", "--local", "array.json", "--server", "cut.strata"),
        Failure("wrong usage of merge", 64, "merge", "--local", "array.json"),
        Failure("no store", 1, "store", "show", "none", "a"),
        Failure("no key in the store", 1, "store", "show", "models.store", "none"),
        Failure(
          "a condition that does not hold", 1, "store", "save", "models.store", "base", "base.json", "--if-revision",
          "1"),
        Failure("no key to compare", 2, "store", "diff", "models.store", "none"),
        Failure("wrong usage of store", 64, "store", "save", "models.store"),
        Failure("wrong usage", 64, "verify"),
        Failure("wrong usage of convert", 64, "convert", "old", "-o", "new", "--jobs", "0"),
      ])
    func failure(_ failure: Failure) throws {
      let workspace = try makeWorkspace(failure)
      try workspace.run(failure.arguments).expectFailure(code: failure.code)
    }
  }
}
