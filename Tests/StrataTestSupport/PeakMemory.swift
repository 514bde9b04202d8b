import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// The peak memory of this process since this value was created. Only Linux provides it, in `/proc/self` (proc(5)).
package struct PeakMemory {
  private let start: Int

  /// Resets the peak. Returns `nil` if the system does not provide it.
  package init?() {
    #if canImport(Glibc)
      guard let file = fopen("/proc/self/clear_refs", "w") else { return nil }
      fputs("5", file)
      fclose(file)
    #endif
    guard let now = Self.value("VmRSS:") else { return nil }
    start = now
  }

  /// The growth of the peak since this value was created, in bytes.
  package var growth: Int { max(0, (Self.value("VmHWM:") ?? start) - start) }

  private static func value(_ name: String) -> Int? {
    guard let file = fopen("/proc/self/status", "r") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, CInt(line.count), file) != nil {
      let text = line.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      guard text.hasPrefix(name) else { continue }
      return text.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
    }
    return nil
  }
}
