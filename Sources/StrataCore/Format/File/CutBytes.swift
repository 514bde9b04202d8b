import Foundation

/// A backup file with the bytes that a writer removes from the end of an unfinished stream. It is in the same folder as the stream.
struct CutBytes {
  private static let step = 1 << 20

  let path: String

  /// Copies the bytes of a file from `offset` to `end` to the file `NAME.cut`, or to `NAME.cut-2` and so on if that
  /// file exists. When the initializer returns, the copy survives a power failure.
  ///
  /// - Throws: ``ArchiveError`` with the code `fileSystem`. After an error, there is no copy.
  init(of file: borrowing OpenFile, from offset: Int, to end: Int, beside url: URL) throws {
    let name = try OpenFile.path(of: url)
    let target = try AtomicFile.target(of: name).path
    var number = 1
    while try FileStatus(ofPath: Self.path(target, number)) != nil { number += 1 }
    path = Self.path(target, number)
    let copy = try OpenFile(creating: path, named: path, permissions: 0o600)
    do {
      var place = offset
      while place < end {
        let bytes = try file.readBytes(at: place, count: min(Self.step, end - place))
        guard !bytes.isEmpty else { throw OpenFile.failure("read", name, EIO) }
        try copy.writeAll(bytes.bytes)
        place += bytes.count
      }
      try copy.synchronize()
      try OpenFile(folder: AtomicFile.folder(of: target), named: name).synchronize()
    } catch {
      remove()
      throw error
    }
  }

  private static func path(_ target: String, _ number: Int) -> String {
    number == 1 ? target + ".cut" : "\(target).cut-\(number)"
  }

  func remove() { OpenFile.remove(path) }
}
