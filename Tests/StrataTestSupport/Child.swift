import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Resource limits for the process in which a test runs its work.
package enum Child {
  /// Limits the memory and the processor time of this process, which fails if it exceeds either limit.
  package static func limit(memory: UInt64 = 2 << 30, seconds: UInt64 = 60) {
    #if canImport(Glibc)
      let (space, time) = (__rlimit_resource_t(RLIMIT_AS.rawValue), __rlimit_resource_t(RLIMIT_CPU.rawValue))
    #else
      let (space, time) = (RLIMIT_AS, RLIMIT_CPU)
    #endif
    var most = rlimit(rlim_cur: rlim_t(memory), rlim_max: rlim_t(memory))
    setrlimit(space, &most)
    most = rlimit(rlim_cur: rlim_t(seconds), rlim_max: rlim_t(seconds))
    setrlimit(time, &most)
  }
}
