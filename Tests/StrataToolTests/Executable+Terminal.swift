import Foundation

extension Executable {
  /// Runs the program in a terminal, where lines end with a carriage return and a line feed.
  ///
  /// Python opens the terminal, because the Swift module of the C library lacks the functions for that.
  ///
  /// - Returns: the output of the terminal.
  static func terminal(_ arguments: [String], columns: Int) throws -> String {
    let script = """
      import fcntl, os, pty, struct, sys, termios
      child, own = pty.fork()
      if child == 0:
          fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 30, int(sys.argv[1]), 0, 0))
          os.environ["TERM"] = "xterm"
          os.execv(sys.argv[2], sys.argv[2:])
      while True:
          try: part = os.read(own, 4096)
          except OSError: break
          if not part: break
          sys.stdout.buffer.write(part)
      os.waitpid(child, 0)
      """
    return try run("/usr/bin/python3", ["-c", script, String(columns), path()] + arguments, nil, in: nil).text
  }
}
