import Strata
import StrataTestSupport
import Testing

@propertyWrapper struct Twice: Equatable {
  var wrappedValue: Int; init(wrappedValue: Int) { self.wrappedValue = wrappedValue }
}

private enum Hidden: String, Archivable { case a, b }

@Model(version: 1)
private struct Secretive: Equatable {
  fileprivate var hidden: Hidden = .a
  private let number: Int
  init(n: Int) { number = n }
}

@Model(version: 1)
struct Declared: VersionedModel, Equatable { var x: Int }

class Base { var base = 1 }
@Model(version: 1, superclass: .excluded)
final class Derived: Base { var x: Int = 3 }
@Model(version: 1, superclass: .excluded)
final class Derived2: Base { var x: Int; init(x: Int) { self.x = x } }

@Model(version: 1)
final class GenericNode<T: Archivable> {
  var value: T; var next: GenericNode<T>?; let k: [T]
  @Field(archive: .excluded) var seen: [T] = []
  init(value: T) { self.value = value; k = [value] }
}

enum Space {
  enum Kind: String, Archivable { case a; static var d: Kind { .a } }
  @Model(version: 1) struct Wrapped: Equatable {
    @Twice var x: Int = 4; var k: Kind? = Kind.d; var g = "a\("b")"
  }
  @Model(version: 1) final class WrappedClass {
    @Twice var x: Int = 4; var k: Kind? = Kind.d; init(q: Int) {}
  }
}
@Model(version: 1)
struct CodableBox<U: Codable & Equatable>: Equatable { var items: [U] = []; var one: U? }

@Model(version: 1)
enum Names: Equatable { case `self`(Int), `init`, `Type`(x: Int), make(String), payload(name: Int), name }

@Model(version: 1)
enum Either<L: Archivable, R: Codable> { case left(L), right(R) }

@Model(version: 1)
final class Knot: Codable {
  var name: String
  var next: Either<Int, Knot>?
  @Field(archive: .excluded) var seen = 0
  init(name: String) { self.name = name }
  enum CodingKeys: String, CodingKey { case name }
}

@Model(version: 1) struct Empty: Equatable {}

@Suite struct UnusualModelTests {
  @Test func accessAndConformance() throws {
    #expect(try archived(Secretive(n: 2)) == Secretive(n: 2))
    #expect(try archived(Declared(x: 2)) == Declared(x: 2))
    #expect(try archived(Empty()) == Empty())
  }

  @Test func classes() throws {
    #expect(try archived(Derived()).x == 3)
    #expect(try archived(Derived2(x: 4)).x == 4)
    // The superclass's properties are not archived, as the attribute requests.
    let derived = Derived(); derived.base = 5; derived.x = 6
    #expect(try archived(derived).base == 1)
    #expect(try derived.dictionaryValue.keys.sorted() == ["x"])
    let n = GenericNode(value: 1); n.next = GenericNode(value: 2)
    #expect(try archived(n).next?.value == 2)
  }

  @Test func nestedWithDefaults() throws {
    #expect(try archived(Space.Wrapped(x: 7)) == Space.Wrapped(x: 7))
    #expect(try archived(Space.WrappedClass(q: 1)).x == 4)
  }

  @Test func generics() throws {
    #expect(try archived(CodableBox(items: [Plain()])) == CodableBox(items: [Plain()]))
    if case .right(let p) = try archived(Either<Int, Plain>.right(Plain())) {
      #expect(p == Plain())
    } else {
      Issue.record("x")
    }
  }

  @Test func objectsInCodablePayloads() throws {
    func knot(_ either: Either<Int, Knot>?) -> Knot? { if case .right(let knot)? = either { knot } else { nil } }
    let one = Knot(name: "a")
    let both = try archived([Either<Int, Knot>.right(one), .right(one)])
    #expect(knot(both[0]) === knot(both[1]) && knot(both[0])?.name == "a")
    // The object refers to itself.
    one.next = .right(one)
    let read = try archived(one)
    #expect(knot(read.next) === read)
    (one.next, read.next) = (nil, nil)
    // A copy refers to the same object, whose excluded fields keep their values.
    one.seen = 3
    let holder = Knot(name: "h")
    holder.next = .right(one)
    let copy = try holder.copy()
    #expect(knot(copy.next) === one && one.seen == 3)
  }

  @Test func caseNames() throws {
    for c in [Names.`self`(1), .`init`, .make("a"), .Type(x: 3), .payload(name: 4), .name] {
      #expect(try archived(c) == c)
    }
  }
}
