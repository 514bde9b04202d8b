import Foundation
import GRDB
import StrataStore
import StrataTestSupport
import Testing

@Suite("Mapping of SQLite errors")
struct ErrorCodeTests {
  /// Every SQLite result code that reports a failure, paired with the expected store error code.
  private static let codes: [(ResultCode, StoreError.Code)] = [
    (.SQLITE_ERROR, .fileSystem), (.SQLITE_INTERNAL, .fileSystem), (.SQLITE_PERM, .fileSystem),
    (.SQLITE_ABORT, .fileSystem), (.SQLITE_BUSY, .busy), (.SQLITE_LOCKED, .busy), (.SQLITE_NOMEM, .fileSystem),
    (.SQLITE_READONLY, .readOnly), (.SQLITE_INTERRUPT, .fileSystem), (.SQLITE_IOERR, .fileSystem),
    (.SQLITE_CORRUPT, .damaged), (.SQLITE_NOTFOUND, .fileSystem), (.SQLITE_FULL, .full),
    (.SQLITE_CANTOPEN, .fileSystem), (.SQLITE_PROTOCOL, .busy), (.SQLITE_EMPTY, .fileSystem),
    (.SQLITE_SCHEMA, .fileSystem), (.SQLITE_TOOBIG, .damaged), (.SQLITE_CONSTRAINT, .fileSystem),
    (.SQLITE_MISMATCH, .fileSystem), (.SQLITE_MISUSE, .invalid), (.SQLITE_NOLFS, .fileSystem),
    (.SQLITE_AUTH, .fileSystem), (.SQLITE_FORMAT, .fileSystem), (.SQLITE_RANGE, .fileSystem),
    (.SQLITE_NOTADB, .notAStore),
  ]

  @Test("Each SQLite result code, extended or not, maps to one store error code")
  func resultCodes() {
    #expect(Set(Self.codes.map(\.0.rawValue)) == Set(1...26))
    for (result, code) in Self.codes {
      #expect(StoreError.meaning(of: result).code == code)
      // An extended result code has the basic code in its low byte and its own number above it.
      for more in 1...40 {
        let extended = ResultCode(rawValue: result.rawValue | Int32(more) << 8)
        // `SQLITE_IOERR_SHMSIZE` means that SQLite could not enlarge the journal's index file, so it counts as a full disk.
        let expected = extended == .SQLITE_IOERR_SHMSIZE ? .full : code
        #expect(StoreError.meaning(of: extended).code == expected, "\(extended)")
      }
    }
  }

  @Test("A failed read maps to fileSystem instead of damaged, and a write without space maps to full")
  func systemErrors() {
    #expect(StoreError.meaning(of: .SQLITE_CORRUPT, [EIO]).code == .fileSystem)
    #expect(StoreError.meaning(of: .SQLITE_CORRUPT_INDEX, [ENXIO]).code == .fileSystem)
    #expect(!StoreError.meaning(of: .SQLITE_CORRUPT, [EIO]).reason.contains("salvage"))
    for number in [ENOSPC, EFBIG, EDQUOT] {
      #expect(StoreError.meaning(of: .SQLITE_IOERR_WRITE, [number]).code == .full)
      #expect(StoreError.meaning(of: .SQLITE_IOERR_FSYNC, [EIO, number]).code == .full)
    }
    #expect(StoreError.meaning(of: .SQLITE_IOERR_FSYNC, [EIO]).code == .fileSystem)
  }
}
