package import Foundation

/// The library Tests/Faults/faults.c, which makes system calls fail, including those of SQLite and Foundation. It must be loaded
/// when a process starts, so a test runs its work in a separate process.
package enum Faults {
  /// The way in which a call fails.
  package enum Way: Int, CaseIterable, Sendable {
    case inputOutput, noRoom, short, shortThenNoRoom, inputOutputFromThenOn

    fileprivate var numbers: (error: Int32, then: Int32) {
      switch self {
      case .inputOutput: (EIO, 0)
      case .noRoom: (ENOSPC, 0)
      case .short: (0, 0)
      case .shortThenNoRoom: (0, ENOSPC)
      case .inputOutputFromThenOn: (EIO, EIO)
      }
    }

    /// Whether only one call fails.
    package var isOnce: Bool { numbers.then == 0 }
  }

  /// Compiles the library into a folder. Returns its path, or `nil` if there is no C compiler or the platform isn't Linux.
  package static func library(in folder: URL) throws -> String? {
    #if os(Linux)
      let path = folder.appending(path: "faults.so").path
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = [
        "-c", #"for c in cc clang gcc; do "$c" -shared -fPIC -O1 -o "$1" "$0" -ldl && exit; done; exit 1"#,
        Repository.root.appending(path: "Tests/Faults/faults.c").path, path,
      ]
      process.standardError = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      return process.terminationStatus == 0 ? path : nil
    #else
      return nil
    #endif
  }

  /// Returns the environment variables that make a system call on a file under `path` fail in a child process.
  package static func environment(_ library: String, path: String, at place: Int, _ way: Way) -> [String: String] {
    let (error, then) = way.numbers
    return [
      "LD_PRELOAD": library, "STRATA_FAULT_PATH": path, "STRATA_FAULT_AT": "\(place)", "STRATA_FAULT_ERROR": "\(error)",
      "STRATA_FAULT_THEN": "\(then)",
    ]
  }

  #if os(Linux)
    private typealias SetFault = @convention(c) (UnsafePointer<CChar>?, Int32, Int32, Int32) -> Void
    private typealias CountCalls = @convention(c) () -> Int32
    private static let setFault = dlsym(nil, "strata_fault").map { unsafeBitCast($0, to: SetFault.self) }
    private static let countCalls = dlsym(nil, "strata_fault_calls").map { unsafeBitCast($0, to: CountCalls.self) }

    /// Whether this process has loaded the library.
    package static var isLoaded: Bool { setFault != nil }

    /// Sets which system call on a file under `path` fails, counted from 1. If `place` is 0, no call fails.
    package static func set(_ path: String, at place: Int, _ way: Way) {
      let (error, then) = way.numbers
      path.withCString { setFault?($0, Int32(place), error, then) }
    }

    /// The number of system calls on files under the path since the last `set`.
    package static var calls: Int { countCalls.map { Int($0()) } ?? 0 }
  #endif
}
