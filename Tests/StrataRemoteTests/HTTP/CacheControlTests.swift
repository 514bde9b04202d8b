import Foundation
import Testing

@testable import StrataRemote

struct CacheControlTests {
  @Test(
    arguments: [
      ("max-age=60", 60), ("MAX-AGE=60", 60), ("max-age=\"60\"", 60), (" public , max-age = 60 ", 60),
      ("max-age=060", 60),
      ("private=\"a, max-age=1\", max-age=60", 60), ("ext=\"a\\\",max-age=1\", max-age=60", 60),
      ("@@ broken, max-age=60", 60),
      ("max-age=60, max-age=60", 60), ("max-age=60, max-age=61", 0), ("max-age", 0), ("max-age=", 0), ("max-age=-1", 0),
      ("max-age=1.5", 0), ("max-age=abc", 0), ("max-age=99999999999999999999999", Int.max), ("max-age=60;x", 0),
      ("public", nil), ("s-maxage=60", nil), ("x-max-age=60", nil), ("", nil), (",,,", nil), ("ext=\"max-age=1", nil),
    ] as [(String, Int?)])
  func maxAgeIsRead(text: String, seconds: Int?) {
    #expect(CacheControl(["Cache-Control": text]).maxAge == seconds)
  }

  @Test func severalLinesAreOne() {
    let control = CacheControl([
      "Cache-Control": "max-age=60", "cache-control": "No-Store", "CACHE-CONTROL": "max-age=61",
    ])
    #expect(control.isNoStore)
    #expect(control.maxAge == 0)
  }

  @Test func argumentsDoNotNameDirectives() {
    let control = CacheControl(["Cache-Control": "private=\"no-store\", ext=no-cache, no-cache-ext"])
    #expect(!control.isNoStore)
    #expect(!control.isNoCache)
    #expect(CacheControl(["Cache-Control": "no-cache=\"Set-Cookie\""]).isNoCache)
  }
}
