import Foundation

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
    JSONTrial.run(Data(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
  }
#endif

@main
enum Main {
  static func main() throws {
    #if FUZZING
      // SwiftPM gives main another name, which libFuzzer's own main then clashes with, so its driver is called.
      var count = CommandLine.argc
      var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
      exit(runDriver(&count, &arguments, testOneInput))
    #else
      for path in CommandLine.arguments.dropFirst() { JSONTrial.run(try Data(contentsOf: URL(filePath: path))) }
    #endif
  }
}
