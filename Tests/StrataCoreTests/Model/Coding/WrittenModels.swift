import Foundation
import Strata
import StrataTestSupport

/// A model with random instances.
protocol RandomModel: VersionedModel {
  static func random(_ random: inout WrittenRandom) -> Self
}

enum WrittenGrade: Int, Archivable { case low = -1, high = 10 }
enum WrittenMark: String, Archivable, CaseAliasing {
  case none, some = "1", plain
  static var formerRawValues: [String: WrittenMark] { ["former": .plain] }
}
struct WrittenSerial: RawRepresentable, Hashable, Archivable { var rawValue: UInt64 }
struct WrittenPlain: Codable, Hashable {
  var name: String
  var ratio: Int?
}

extension WrittenRandom {
  mutating func grade() -> WrittenGrade { oneOf([.low, .high]) }
  mutating func mark() -> WrittenMark { oneOf([.none, .some, .plain]) }
  mutating func serial() -> WrittenSerial { WrittenSerial(rawValue: integer()) }
  mutating func plain() -> WrittenPlain { WrittenPlain(name: text(), ratio: optional { $0.integer(Int.self) }) }
}

@Model(version: 3)
struct WrittenScalars: RandomModel {
  var int8: Int8, int16: Int16, int32: Int32, int64: Int64, int128: Int128
  var uint8: UInt8, uint16: UInt16, uint32: UInt32, uint64: UInt64, uint128: UInt128
  var bool: Bool, float: Float, double: Double, string: String, data: Data, date: Date, url: URL, uuid: UUID
  var decimal: Decimal, grade: WrittenGrade, mark: WrittenMark, serial: WrittenSerial, plain: WrittenPlain
  @Field(archive: .excluded) var cache = 0
  @Field(storage: .transitory) var seen = ""

  static func random(_ random: inout WrittenRandom) -> WrittenScalars {
    WrittenScalars(
      int8: random.integer(), int16: random.integer(), int32: random.integer(), int64: random.integer(),
      int128: random.integer(), uint8: random.integer(), uint16: random.integer(), uint32: random.integer(),
      uint64: random.integer(), uint128: random.integer(), bool: random.isOnce(in: 2), float: random.float(),
      double: random.double(), string: random.text(), data: random.data(), date: random.date(), url: random.url(),
      uuid: random.uuid(), decimal: random.decimal(), grade: random.grade(), mark: random.mark(),
      serial: random.serial(), plain: random.plain(), cache: 0, seen: random.text())
  }
}

@Model(version: 1)
struct WrittenContainers: RandomModel {
  var optional: Int? = 5
  var nested: Int??
  var optionals: [String?] = []
  var arrays: [[WrittenMark]] = []
  var set: Set<WrittenMark?> = []
  var numbers: Set<Double> = []
  var sets: Set<Set<Int>> = []
  var byText: [String: Double] = [:]
  var byGrade: [WrittenGrade: WrittenMark?] = [:]
  var bySerial: [WrittenSerial: WrittenMark] = [:]
  var plains: [WrittenPlain] = []
  var byOptional: [Int?: [Int]] = [:]
  var byDouble: [Double: Int] = [:]
  var byData: [Data: Int] = [:]
  var byDate: [Date: Int] = [:]
  var byBoolean: [Bool: [UUID: URL]] = [:]
  var byCase: [WrittenChoice: Int] = [:]
  var choices: Set<WrittenChoice> = []
  @Field(json: "deep.er.here") var place = ""
  @Field(formerly: "before") var renamed: WrittenChoice?

  static func random(_ random: inout WrittenRandom) -> WrittenContainers {
    WrittenContainers(
      optional: random.optional { $0.integer() }, nested: random.optional { $0.optional { $0.integer() } },
      optionals: random.array { $0.optional { $0.text() } }, arrays: random.array { $0.array { $0.mark() } },
      set: random.set { $0.optional { $0.mark() } }, numbers: random.set { $0.double() },
      sets: random.set { $0.set { $0.integer() } }, byText: random.dictionary({ $0.text() }, { $0.double() }),
      byGrade: random.dictionary({ $0.grade() }, { $0.optional { $0.mark() } }),
      bySerial: random.dictionary({ $0.serial() }, { $0.mark() }), plains: random.array { $0.plain() },
      byOptional: random.dictionary({ $0.optional { $0.integer() } }, { $0.array { $0.integer() } }),
      byDouble: random.dictionary({ $0.double() }, { $0.integer() }),
      byData: random.dictionary({ $0.data() }, { $0.integer() }),
      byDate: random.dictionary({ $0.date() }, { $0.integer() }),
      byBoolean: random.dictionary({ $0.isOnce(in: 2) }, { $0.dictionary({ $0.uuid() }, { $0.url() }) }),
      byCase: random.dictionary({ WrittenChoice.random(&$0) }, { $0.integer() }),
      choices: random.set { WrittenChoice.random(&$0) },
      place: random.text(), renamed: random.optional { WrittenChoice.random(&$0) })
  }
}

@Model(version: 2)
indirect enum WrittenChoice: RandomModel, Hashable {
  case none
  case some(Int)
  case text(String?, also: WrittenMark)
  case spot(WrittenSpot)
  case both(WrittenChoice, WrittenChoice?)
  case `default`(in: [String: WrittenGrade])

  static func random(_ random: inout WrittenRandom) -> WrittenChoice {
    switch random.oneOf([0, 1, 2, 3, 4, 5]) {
    case 0: WrittenChoice.none
    case 1: WrittenChoice.some(random.integer())
    case 2: .text(random.optional { $0.text() }, also: random.mark())
    case 3: .spot(WrittenSpot.random(&random))
    case 4:
      random.inside { random in
        .both(WrittenChoice.random(&random), random.inside { WrittenChoice.random(&$0) })
      } ?? WrittenChoice.none
    default: .default(in: random.dictionary({ $0.text() }, { $0.grade() }))
    }
  }
}

@Model(version: 1)
struct WrittenSpot: RandomModel, Hashable {
  @Field(json: "at.lat") var lat = 0
  @Field(json: "at.lng") var lng = 0
  @Field(archive: .excluded) var cache = 0

  static func random(_ random: inout WrittenRandom) -> WrittenSpot {
    WrittenSpot(lat: random.oneOf([0, 1]), lng: random.oneOf([0, 1]), cache: random.isOnce(in: 20) ? 1 : 0)
  }
}

@Model(version: 1)
struct WrittenHolder: RandomModel {
  var spots: Set<WrittenSpot> = []
  var bySpot: [WrittenSpot: WrittenMark] = [:]
  var inside: [WrittenHolder] = []
  var choice: WrittenChoice = WrittenChoice.none
  var box: WrittenPack<WrittenChoice?, WrittenSpot>

  static func random(_ random: inout WrittenRandom) -> WrittenHolder {
    WrittenHolder(
      spots: random.set { WrittenSpot.random(&$0) },
      bySpot: random.dictionary({ WrittenSpot.random(&$0) }, { $0.mark() }),
      inside: random.array { $0 }.compactMap { _ in random.inside { WrittenHolder.random(&$0) } },
      choice: WrittenChoice.random(&random),
      box: WrittenPack(
        first: random.optional { WrittenChoice.random(&$0) }, second: random.array { WrittenSpot.random(&$0) }))
  }
}

@Model(version: 1)
struct WrittenPack<A: Archivable, B: Archivable> {
  var first: A
  var second: [B]
}

/// A model with handwritten fields, one per line.
struct WrittenByLine: DescribedModel, RandomModel {
  var choice: WrittenChoice
  var marks: [WrittenMark: WrittenChoice]
  var keys: [WrittenSpot?: Int]
  static let fields = Fields(
    WrittenByLine.self, version: 1, Field("choice", \.choice), Field("marks", \.marks), Field("keys", \.keys),
    make: { WrittenByLine(choice: $0, marks: $1, keys: $2) })
  static func random(_ random: inout WrittenRandom) -> WrittenByLine {
    WrittenByLine(
      choice: WrittenChoice.random(&random), marks: random.dictionary({ $0.mark() }, { WrittenChoice.random(&$0) }),
      keys: random.dictionary({ $0.optional { WrittenSpot.random(&$0) } }, { $0.integer() }))
  }
}

/// A class whose objects can be shared and can form cycles.
@Model(version: 1)
class WrittenKnot: RandomModel, Hashable {
  var name = ""
  var next: WrittenKnot?
  weak var back: WrittenKnot?
  var others: [WrittenKnot] = []
  var choice: WrittenChoice?
  var group: Set<WrittenKnot> = []
  var weights: [WrittenKnot: Int] = [:]

  required init() {}

  static func == (left: WrittenKnot, right: WrittenKnot) -> Bool { left === right }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  static func random(_ random: inout WrittenRandom) -> Self {
    let root = Self()
    let all =
      [root] + (0..<random.oneOf([0, 1, 2, 4])).map { _ in random.isOnce(in: 3) ? WrittenLoop() : WrittenKnot() }
    for knot in all {
      knot.name = random.text()
      knot.next = random.isOnce(in: 2) ? random.oneOf(all) : nil
      knot.back = random.isOnce(in: 2) ? random.oneOf(all) : nil
      knot.others = random.array { $0.oneOf(all) }
      knot.choice = random.optional { WrittenChoice.random(&$0) }
      (knot as? WrittenLoop)?.mark = random.optional { $0.mark() }
      if random.isOnce(in: 4) { knot.group = random.set { $0.oneOf(all) } }
      if random.isOnce(in: 4) { knot.weights = random.dictionary({ $0.oneOf(all) }, { $0.integer() }) }
    }
    return root
  }
}

@Model(version: 4, superclass: WrittenKnot.self)
final class WrittenLoop: WrittenKnot {
  var mark: WrittenMark?
  required init() { super.init() }
}
