import Foundation

/// `strata-fuzz TRIAL …`: runs the files that are given, or lets libFuzzer make some up.
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
      // libFuzzer takes what begins with no hyphen for an input, so it does not see the name of the trial.
      var count = CommandLine.argc - 1
      CommandLine.unsafeArgv[1] = CommandLine.unsafeArgv[0]
      var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
      // SwiftPM gives main another name, which libFuzzer's own main then clashes with, so its driver is called.
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

  /// What libFuzzer calls, and asks for by name.
  @_cdecl("LLVMFuzzerTestOneInput")
  func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Main.run(Data(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
  }
#endif
