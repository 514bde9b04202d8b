import StrataCore
import StrataTestSupport
import Testing

@Suite("Paths")
struct ValuePathTests {
  @Test(
    "U-11: keys with special characters, indices and patterns are parsed and described",
    arguments: [
      (".", []), ("", [.key("")]), ("a", [.key("a")]), ("user.login", [.key("user"), .key("login")]),
      ("a\\.b", [.key("a.b")]), ("a\\\\", [.key("a\\")]), ("a\\\\.b", [.key("a\\"), .key("b")]),
      ("@count", [.key("@count")]), ("\u{fc}.u\u{308}", [.key("\u{fc}"), .key("u\u{308}")]),
      ("a[0].b", [.key("a"), .index(0), .key("b")]), ("[2][3]", [.index(2), .index(3)]),
      ("a\\[0\\]", [.key("a[0]")]), ("a\\[b\\]", [.key("a[b]")]), ("k\\=v", [.key("k=v")]),
      ("labels[*].name", [.key("labels"), .anyElement, .key("name")]), ("[*][*]", [.anyElement, .anyElement]),
      ("*", [.anyKey]), ("a.*.b", [.key("a"), .anyKey, .key("b")]), ("\\*", [.key("*")]), ("a*", [.key("a*")]),
      ("a..b", [.key("a"), .key(""), .key("b")]), ("a.", [.key("a"), .key("")]), (".a", [.key(""), .key("a")]),
      ("\"\".", [.key(""), .key("")]), ("\"\"[0]", [.key(""), .index(0)]), ("[0].", [.index(0), .key("")]),
      ("a.\"\"[*]", [.key("a"), .key(""), .anyElement]), ("\\\"\"", [.key("\"\"")]),
      ("a.\u{301}b", [.key("a"), .key("\u{301}b")]), ("\\.\u{301}", [.key(".\u{301}")]),
    ] as [(String, [ValuePath.Component])])
  func spellings(text: String, components: [ValuePath.Component]) {
    #expect(ValuePath(parsing: text).components == components)
    #expect(ValuePath(components).description == text)
  }

  @Test(
    "A path with several spellings is described in its canonical spelling",
    arguments: [
      ("a[b]", "a\\[b\\]"), ("a[0]b", "a\\[0\\]b"), ("a[", "a\\["), ("a[]", "a\\[\\]"), ("a[-1]", "a\\[-1\\]"),
      ("a[**]", "a\\[**\\]"), ("k=v", "k\\=v"), ("a\\b", "a\\\\b"), ("a\\", "a\\\\"), ("a\\*", "a*"), ("a.[0]", "a[0]"),
      ("a[007]", "a[7]"), ("a[9223372036854775808]", "a\\[9223372036854775808\\]"), ("a.\"\".b", "a..b"),
    ])
  func otherSpellings(text: String, canonical: String) {
    #expect(ValuePath(parsing: text).description == canonical)
  }

  @Test("Parsing the description of a path returns the same path", arguments: [1, 2, 3] as [UInt64])
  func description(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let parts = ["", ".", "[", "]", "*", "=", "\\", "\"", "0", "a", "\u{301}", "\u{fc}", "u\u{308}", "\r\n", "👩‍👩‍👧", " "]
    for _ in 0..<Effort.rounds(3000, long: 100_000) {
      let components = (0..<random.below(5)).map { _ -> ValuePath.Component in
        switch random.below(8) {
        case 0: .index(random.oneOf([0, 7, .max]))
        case 1: .anyKey
        case 2: .anyElement
        case 3: .key(random.oneOf(["", "*", "\"\"", "[*]", "[0]", "."]))
        default: .key((0..<random.below(5)).map { _ in random.oneOf(parts) }.joined())
        }
      }
      let path = ValuePath(components)
      #expect(ValuePath(parsing: path.description) == path, "\(components)")
    }
  }

  @Test("A JSON pointer writes an index as digits, and reads every token as a key")
  func pointers() throws {
    #expect(("a[2].b~/c" as ValuePath).pointer == "/a/2/b~0~1c" && ValuePath().pointer == "")
    let path = try ValuePath(pointer: "/a/2/b~0~1c")
    #expect(path == ValuePath("a", "2", "b~/c") && path.description == "a.2.b~/c")
    #expect(("a.*[*]" as ValuePath).pointer == "/a/*/[*]")
  }

  @Test("Paths that differ only in Unicode normalization are distinct")
  func bytes() {
    let (one, other) = ("\u{fc}" as ValuePath, "u\u{308}" as ValuePath)
    #expect(one != other && Set([one, other, "\u{fc}"]).count == 2)
  }

  @Test("A pattern matches only paths of the same length")
  func patterns() {
    let path: [ValuePath.Component] = [.key("l"), .index(3), .key("n")]
    let named: [ValuePath.Component] = [.key("l"), .element(key: "id", id: 3), .key("n")]
    for pattern in ["l[*].n", "*[*].*"] as [ValuePath] { #expect(pattern.matches(path) && pattern.matches(named)) }
    for pattern in ["l[3].n", "*[3].n"] as [ValuePath] { #expect(pattern.matches(path) && !pattern.matches(named)) }
    for pattern in ["l[2].n", "l.*.n", "l[*]", "l[*].n.x", "[*][*].n"] as [ValuePath] {
      #expect(!pattern.matches(path) && !pattern.matches(named), "\(pattern)")
    }
    #expect(ValuePath(named).matches(named) && !ValuePath(named).matches(path) && ("." as ValuePath).matches([]))
  }

  @Test("Values can be read and set at paths of keys and indices, and setting a pattern or the root throws")
  func values() throws {
    var value: ArchiveValue = ["a": [1, ["b": 2]]]
    #expect(value["a[1].b" as ValuePath] == 2 && value["a[2]" as ValuePath] == nil && value["a.b" as ValuePath] == nil)
    #expect(value["." as ValuePath] == value)
    try value.set(3, at: "a[1].b")
    try value.set(4, at: "c[1]")
    try value.set(nil, at: "a[0]")
    #expect(value == ["a": [["b": 3]], "c": [.null, 4]])
    let before = value
    for index in [-1, 2 + 65_536, .max] {
      for path in [[.key("c"), .index(index)], [.key("c"), .index(index), .key("x")]] as [[ValuePath.Component]] {
        let error = #expect(throws: ArchiveError.self) { try value.set(9, at: ValuePath(path)) }
        #expect(error?.code == .typeMismatch && error?.reason.hasPrefix("the index \(index) is negative") == true)
        #expect(value == before && value[ValuePath(path)] == nil)
      }
    }
    for (path, reason) in [
      ("a.*", "the path a.* must consist of keys and indices: * matches every key; write \\* for a key named *"),
      (
        "a[*].b",
        "the path a[*].b must consist of keys and indices: [*] matches every element; "
          + "write an index, or \\[*] for a key"
      ),
      (".", "the path refers to the root, which cannot be set or removed; use the path of a value inside the root"),
    ] {
      let path = ValuePath(parsing: path)
      let error = #expect(throws: ArchiveError.self) { try value.set(9, at: path) }
      #expect(error?.code == .typeMismatch && error?.reason == reason)
      #expect(value == before && (path == "." || value[path] == nil))
    }
  }
}
