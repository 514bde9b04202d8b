package import Foundation
import StrataCore

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A server on 127.0.0.1 that runs a closure for each connection. The closure can send any bytes, and runs on a thread of its own.
package final class RawServer: Sendable {
  /// A connection that is closed after the closure returns.
  package struct Connection: Sendable {
    fileprivate let descriptor: Int32

    /// Reads a request up to the end of its header. Returns `nil` if the client has closed the connection.
    package func head() -> String? {
      var head: [UInt8] = []
      var byte: UInt8 = 0
      while recv(descriptor, &byte, 1, 0) == 1 {
        head.append(byte)
        if head.suffix(4) == [13, 10, 13, 10] { return String(decoding: head, as: UTF8.self) }
      }
      return nil
    }

    /// Sends all bytes. Returns `false` if the client has closed the connection.
    @discardableResult package func send(_ bytes: Data) -> Bool {
      var rest = bytes
      while !rest.isEmpty {
        #if canImport(Glibc)
          let flags = Int32(MSG_NOSIGNAL)
        #else
          let flags: Int32 = 0
        #endif
        let count = rest.withUnsafeBytes { buffer in
          #if canImport(Glibc)
            Glibc.send(descriptor, buffer.baseAddress, buffer.count, flags)
          #else
            Darwin.send(descriptor, buffer.baseAddress, buffer.count, flags)
          #endif
        }
        if count <= 0 { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }

    @discardableResult package func send(_ text: String) -> Bool { send(Data(text.utf8)) }

    /// Waits until the client closes the connection.
    package func waitForEnd() {
      var byte: UInt8 = 0
      while recv(descriptor, &byte, 1, 0) == 1 {}
    }

    /// Makes the connection end with a reset when it is closed, instead of an orderly close.
    package func reset() {
      var linger = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    }
  }

  package struct Failure: Error { let number: Int32 }

  package let port: UInt16
  private let listener: Int32
  private let open = Mutex<Set<Int32>>([])
  private let accepted = Mutex(0)

  /// The number of accepted connections.
  package var connections: Int { accepted.withLock { $0 } }

  /// The number of open connections.
  package var openConnections: Int { open.withLock { $0.count } }

  package func url(_ path: String = "/") throws -> URL {
    guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else { throw Failure(number: EINVAL) }
    return url
  }

  package init(_ handle: @Sendable @escaping (Connection) -> Void) throws {
    #if canImport(Glibc)
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let listener = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 512) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    guard listener >= 0, result else { throw Failure(number: errno) }
    self.listener = listener
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [self] in
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { break }
        #if !canImport(Glibc)
          var on: Int32 = 1
          setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout.size(ofValue: on)))
        #endif
        open.withLock { _ = $0.insert(descriptor) }
        accepted.withLock { $0 += 1 }
        Thread.detachNewThread { [self] in
          handle(Connection(descriptor: descriptor))
          open.withLock {
            _ = $0.remove(descriptor)
            close(descriptor)
          }
        }
      }
      close(listener)
    }
  }

  /// Closes all connections.
  package func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    open.withLock { for descriptor in $0 { shutdown(descriptor, Int32(SHUT_RDWR)) } }
  }
}
