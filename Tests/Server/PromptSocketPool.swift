internal import FlyingFox
internal import FlyingSocks

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A socket pool that disables Nagle's algorithm, so that sockets send immediately.
///
/// FlyingFox writes a response in two parts. The system would hold back the second one until the first is acknowledged, which
/// takes 40 ms on Linux (RFC 896, and RFC 1122, section 4.2.3.2). A socket waits for connections or requests before it writes, so
/// the option is set here.
struct PromptSocketPool: AsyncSocketPool {
  private let pool: any AsyncSocketPool = HTTPServer.defaultPool()

  func prepare() async throws { try await pool.prepare() }

  func run() async throws { try await pool.run() }

  func suspendSocket(_ socket: Socket, untilReadyFor events: Socket.Events) async throws {
    // Errors are ignored: without the option a socket is only slower, and a closed socket fails when it waits.
    try? socket.setValue(true, for: BoolSocketOption(level: Int32(IPPROTO_TCP), name: TCP_NODELAY))
    try await pool.suspendSocket(socket, untilReadyFor: events)
  }
}
