import Foundation

/// `strata-fuzz TRIAL …`: runs the given files, or lets libFuzzer generate inputs.
@main
enum Main {
  static let trial = CommandLine.arguments.dropFirst().first.flatMap { Trial(rawValue: $0) }

  static func run(_ data: Data) {
    do { try trial?.run(data) } catch { fatalError("\(error)") }
  }

  static func main() throws {
    guard trial != nil else {
      let names = Trial.allCases.map(\.rawValue).joined(separator: " | ")
      FileHandle.standardError.write(Data("usage: strata-fuzz \(names) …\n".utf8))
      exit(64)
    }
    #if FUZZING
      // libFuzzer treats an argument without a hyphen as an input, so the name of the trial is removed.
      var count = CommandLine.argc - 1
      CommandLine.unsafeArgv[1] = CommandLine.unsafeArgv[0]
      var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
      // SwiftPM renames main, which conflicts with libFuzzer's own main, so libFuzzer's driver is called directly.
      exit(runDriver(&count, &arguments, testOneInput))
    #else
      for path in CommandLine.arguments.dropFirst(2) { Main.run(try Data(contentsOf: URL(filePath: path))) }
    #endif
  }
}

#if FUZZING
  @_silgen_name("LLVMFuzzerRunDriver")
  func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
  ) -> CInt

  /// The function that libFuzzer looks up by name and calls.
  @_cdecl("LLVMFuzzerTestOneInput")
  func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Main.run(Data(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
  }
#endif
