import Testing

@Suite struct ExpansionTests {
  @Test func propertiesThatTakeNoPart() {
    expectExpansion(
      #"""
      @Model(version: 1)
      struct Note {
        var text: String
        @Field(storage: .transitory) var seen = 0
        @Field(storage: .none) var selection = 0
        @Field(storage: .none) let limit = 3
        @Field(storage: .none) var draft: String?
      }
      """#,
      #"""
      struct Note {
        var text: String
        var seen = 0
        var selection = 0
        let limit = 3
        var draft: String?

        static let schema = _StrataSchema(
          Note.self, name: "Note", version: 1,
          fields: [
            _StrataField("text", String.self),
            _StrataField("seen", storage: .transitory, default: { 0 }),
          ])
      }

      nonisolated extension Note: _StrataModel {
        init(fields reader: inout _StrataReader) throws {
          self.text = try reader.field(0)
          self.seen = try reader.field(1, default: 0)
        }

        func encodeFields(to writer: inout _StrataWriter) throws {
          try writer.field(0, self.text)
          try writer.field(1, self.seen)
        }

        mutating func adoptFields(of other: Self) {
          let kept0 = self.selection
          let kept1 = self.draft
          self = other
          self.selection = kept0
          self.draft = kept1
        }
      }
      """#)
  }

  /// The expansion lets the compiler show errors at the property. Adjacent properties need only one `#sourceLocation`.
  @Test func linesOfProperties() {
    expectExpansion(
      #"""
      @Model(version: 1)
      struct Note {
        var text: String
        var count: Int

        @Field(archive: .excluded)
        var tags = [1]
      }
      """#,
      #"""
      struct Note {
        var text: String
        var count: Int
        var tags = [1]

        static let schema = _StrataSchema(
          Note.self, name: "Note", version: 1,
          fields: [
            _StrataField("text", String.self),
            _StrataField("count", Int.self),
            _StrataField("tags", archive: .excluded, default: { let value = [1]; return value }),
          ])
      }

      nonisolated extension Note: _StrataModel {
        init(fields reader: inout _StrataReader) throws {
          #sourceLocation(file: "Note.swift", line: 3)
          self.text = try reader.field(0)
          self.count = try reader.field(1)
          #sourceLocation(file: "Note.swift", line: 7)
          let default2 = self.tags; self.tags = try reader.excludedField(2, default: default2)
          #sourceLocation()
        }

        func encodeFields(to writer: inout _StrataWriter) throws {
          #sourceLocation(file: "Note.swift", line: 3)
          try writer.field(0, self.text)
          try writer.field(1, self.count)
          #sourceLocation(file: "Note.swift", line: 7)
          try writer.excludedField(2, self.tags)
          #sourceLocation()
        }
      }
      """#, fileName: "Note.swift")
  }

  @Test func structure() {
    expectExpansion(
      #"""
      @Model(version: 3, formerNames: ["Bug"])
      public struct Issue {
        public let id: Int
        @Field(formerly: "headline", "subject", merge: .serverWins.ifPresent) var title: String?
        @Field(unknown: .useDefault) var state: State = .open
        @Field(archive: .excluded) var retrievedAt = Date.now
        @Field(archive: .excluded) weak var owner: User?
        var a, b: Int
        var `init` = 0 {
          didSet {}
        }
        var unknownFields = UnknownFields()
        var isOpen: Bool { state == .open }
        static let limit = 3
      }
      """#,
      #"""
      public struct Issue {
        public let id: Int
        var title: String?
        var state: State = .open
        var retrievedAt = Date.now
        weak var owner: User?
        var a, b: Int
        var `init` = 0 {
          didSet {}
        }
        var unknownFields = UnknownFields()
        var isOpen: Bool { state == .open }
        static let limit = 3

        public static let schema = _StrataSchema(
          Issue.self, name: "Issue", formerNames: ["Bug"], version: 3,
          fields: [
            _StrataField("id", Int.self),
            _StrataField("title", String?.self, formerly: ["headline", "subject"], merge: .serverWins.ifPresent),
            _StrataField("state", State.self, unknown: .useDefault, default: { .open }),
            _StrataField("retrievedAt", archive: .excluded, default: { let value = Date.now; return value }),
            _StrataField("a", Int.self),
            _StrataField("b", Int.self),
            _StrataField("init", default: { 0 }),
          ], keepsUnknownFields: true)
      }

      nonisolated extension Issue: _StrataModel {
        public init(fields reader: inout _StrataReader) throws {
          self.id = try reader.field(0)
          self.title = try reader.field(1)
          self.state = try reader.field(2, default: .open, unknown: .useDefault)
          let default3 = self.retrievedAt
          self.retrievedAt = try reader.excludedField(3, default: default3)
          self.a = try reader.field(4)
          self.b = try reader.field(5)
          self.`init` = try reader.field(6, default: 0)
          self.unknownFields = reader.readUnknownFields()
        }

        public func encodeFields(to writer: inout _StrataWriter) throws {
          try writer.field(0, self.id)
          try writer.field(1, self.title)
          try writer.field(2, self.state)
          try writer.excludedField(3, self.retrievedAt)
          try writer.field(4, self.a)
          try writer.field(5, self.b)
          try writer.field(6, self.`init`)
        }

        public var archivedUnknownFields: _StrataUnknownFields {
          self.unknownFields
        }

        public mutating func adoptFields(of other: Self) {
          let kept0 = self.owner
          self = other
          self.owner = kept0
        }
      }
      """#)
  }

  @Test func genericStructureInAnother() {
    expectExpansion(
      #"""
      enum Outer {
        @Model(version: 1, name: "box")
        struct Box<T: Archivable, U> where U: Codable {
          var content: T
          var tag: U
          var kind = Kind.usual()
        }
      }
      """#,
      #"""
      enum Outer {
        struct Box<T: Archivable, U> where U: Codable {
          var content: T
          var tag: U
          var kind = Kind.usual()

          static var schema: _StrataSchema {
            _StrataSchema.cached(Box.self) {
              _StrataSchema(
                Box.self, name: "box<\(_StrataSchema.argumentName(T.self)), \(_StrataSchema.argumentName(U.self))>", version: 1,
                fields: [
                  _StrataField("content", T.self),
                  _StrataField("tag", U.self),
                  _StrataField("kind", initialValue: { let value = Kind.usual(); return value }),
                ])
            }
          }
        }
      }

      nonisolated extension Outer.Box: _StrataModel {
        init(fields reader: inout _StrataReader) throws {
          self.content = try reader.field(0)
          self.tag = try reader.field(1)
          let default2 = self.kind
          self.kind = try reader.field(2, default: default2)
        }

        func encodeFields(to writer: inout _StrataWriter) throws {
          try writer.field(0, self.content)
          try writer.field(1, self.tag)
          try writer.field(2, self.kind)
        }
      }
      """#)
  }

  @Test func finalClass() {
    expectExpansion(
      #"""
      @Model(version: 1)
      package final class Person {
        let id: Int
        @Field(json: "user.name") var name: String!
        @Field(archive: .excluded) lazy var computed = id

        init(id: Int) {
          self.id = id
        }
      }
      """#,
      #"""
      package final class Person {
        let id: Int
        var name: String!
        lazy var computed = id

        init(id: Int) {
          self.id = id
        }

        package static let schema = _StrataSchema(
          Person.self, name: "Person", version: 1,
          fields: [
            _StrataField("id", Int.self, isConstant: true),
            _StrataField("name", String?.self, json: "user.name"),
          ])

        package init(fields reader: inout _StrataReader) throws {
          self.id = try reader.field(0)
          self.name = try reader.field(1)
        }

        package func adoptFields(of other: Person) {
          self.name = other.name
        }

        package func readField(_ place: Int, from reader: inout _StrataReader) throws {
          switch place {
          case 1:
            self.name = try reader.field(1)
          default:
            throw reader.constantInCycle(place)
          }
        }
      }

      nonisolated extension Person: _StrataModel {
        package func encodeFields(to writer: inout _StrataWriter) throws {
          try writer.field(0, self.id)
          try writer.field(1, self.name)
        }
      }
      """#)
  }

  @Test func classWithImplicitInitializer() {
    expectExpansion(
      #"""
      @Model(version: 1)
      final class Counter {
        var count = 0
        var label: String?
      }
      """#,
      #"""
      final class Counter {
        var count = 0
        var label: String?

        static let schema = _StrataSchema(
          Counter.self, name: "Counter", version: 1,
          fields: [
            _StrataField("count", default: { 0 }),
            _StrataField("label", String?.self),
          ])

        func adoptFields(of other: Counter) {
          self.count = other.count
          self.label = other.label
        }

        func readField(_ place: Int, from reader: inout _StrataReader) throws {
          switch place {
          case 0:
            self.count = try reader.field(0, default: 0)
          case 1:
            self.label = try reader.field(1)
          default:
            throw reader.constantInCycle(place)
          }
        }
      }

      nonisolated extension Counter: _StrataModel {
        convenience init(fields reader: inout _StrataReader) throws {
          self.init()
          self.count = try reader.field(0, default: 0)
          self.label = try reader.field(1)
        }

        func encodeFields(to writer: inout _StrataWriter) throws {
          try writer.field(0, self.count)
          try writer.field(1, self.label)
        }
      }
      """#)
  }

  @Test func hierarchy() {
    expectExpansion(
      #"""
      @Model(version: 2)
      open class Animal {
        public let name: String
        weak var keeper: Keeper?

        init(name: String) { self.name = name }
      }
      """#,
      #"""
      open class Animal {
        public let name: String
        weak var keeper: Keeper?

        init(name: String) { self.name = name }

        private static let _schemaOfAnimal = _StrataSchema(
          Animal.self, name: "Animal", version: 2,
          fields: [
            _StrataField("name", String.self, isConstant: true),
            _StrataField("keeper", Keeper?.self, archive: .conditional),
          ])

        open class var schema: _StrataSchema { _schemaOfAnimal }

        public required init(fields reader: inout _StrataReader) throws {
          self.name = try reader.field(0)
          self.keeper = try reader.field(1)
        }

        open func encodeFields(to writer: inout _StrataWriter) throws {
          try writer.field(0, self.name)
          try writer.conditionalField(1, self.keeper)
        }

        open func readField(_ place: Int, from reader: inout _StrataReader) throws {
          switch place {
          case 1:
            self.keeper = try reader.field(1)
          default:
            throw reader.constantInCycle(place)
          }
        }

        public func adoptFields(of other: Animal) {
          self.adoptObject(other)
        }

        open var archivedUnknownFields: _StrataUnknownFields {
          _StrataUnknownFields()
        }

        open func adoptObject(_ other: AnyObject) {
          guard let other = other as? Animal else { return }
          self.keeper = other.keeper
        }
      }

      nonisolated extension Animal: _StrataModel, _StrataBaseClass {}
      """#)
  }

  /// If the superclass isn't a model, the compiler reports an error at the first declaration. Here, the expansion has no source location.
  @Test func superclassThatIsNoModel() {
    let check =
      "private static func _rootOfJob<_StrataRoot: Base & _Strata.`any superclass that is no model; write @Model(version: …, "
      + "superclass: .excluded) to leave its properties out`>(_: _StrataRoot.Type) {}"
    func expansion(_ check: String, _ initializer: String) -> String {
      """
      final class Job: Base {
        let id: Int

      \(check)  static let schema = _StrataSchema(
          Job.self, name: "Job", version: 1,
          fields: [
            _StrataField("id", Int.self, isConstant: true),
          ])

        init(fields reader: inout _StrataReader) throws {
          self.id = try reader.field(0)\(initializer)
        }

        func adoptFields(of other: Job) {}

        func readField(_ place: Int, from reader: inout _StrataReader) throws {
          switch place {
          default:
            throw reader.constantInCycle(place)
          }
        }
      }

      nonisolated extension Job: _StrataModel {
        func encodeFields(to writer: inout _StrataWriter) throws {
          try writer.field(0, self.id)
        }
      }
      """
    }
    expectExpansion("@Model(version: 1)\nfinal class Job: Base {\n  let id: Int\n}", expansion("  \(check)\n\n", ""))
    expectExpansion(
      "@Model(version: 1, superclass: .excluded)\nfinal class Job: Base {\n  let id: Int\n}",
      expansion("", "\n    super.init()"))
  }

  @Test func subclass() {
    expectExpansion(
      #"""
      @Model(version: 3, superclass: Animal.self)
      final class Dog: Animal {
        var friend: Animal?
      }
      """#,
      #"""
      final class Dog: Animal {
        var friend: Animal?

        private static let _schemaOfDog = _StrataSchema(
          Dog.self, name: "Dog", version: 3, superclass: Animal.self,
          fields: [
            _StrataField("friend", Animal?.self),
          ])

        override class var schema: _StrataSchema { _schemaOfDog }

        required init(fields reader: inout _StrataReader) throws {
          self.friend = try reader.field(0)
          reader.beginSuperclass(after: 1)
          try super.init(fields: &reader)
          reader.endSuperclass(after: 1)
        }

        override func encodeFields(to writer: inout _StrataWriter) throws {
          try writer.field(0, self.friend)
          writer.beginSuperclass(after: 1)
          try super.encodeFields(to: &writer)
          writer.endSuperclass(after: 1)
        }

        override func readField(_ place: Int, from reader: inout _StrataReader) throws {
          switch place {
          case 0:
            self.friend = try reader.field(0)
          default:
            reader.beginSuperclass(after: 1)
            try super.readField(place - 1, from: &reader)
            reader.endSuperclass(after: 1)
          }
        }

        override func adoptObject(_ other: AnyObject) {
          super.adoptObject(other)
          guard let other = other as? Dog else { return }
          self.friend = other.friend
        }
      }
      """#, specs: subclassSpecs)
  }

  @Test func enumWithPayloads() {
    expectExpansion(
      #"""
      @Model(version: 2)
      indirect enum Payment {
        case cash
        @Field(formerly: "plastic") case card(number: String, expiry: Date?)
        case both(Payment, Payment)
        case `default`(in: Int)
      }
      """#,
      #"""
      indirect enum Payment {
        case cash
        case card(number: String, expiry: Date?)
        case both(Payment, Payment)
        case `default`(in: Int)

        static let schema = _StrataSchema(
          Payment.self, name: "Payment", version: 2,
          cases: [
            _StrataCase("cash", labels: []),
            _StrataCase("card", formerly: ["plastic"], payload: [(String).self, (Date?).self], labels: ["number", "expiry"]),
            _StrataCase("both", payload: [(Payment).self, (Payment).self], labels: ["_0", "_1"]),
            _StrataCase("default", payload: [(Int).self], labels: ["in"]),
          ])
      }

      nonisolated extension Payment: _StrataModel {
        init(fields reader: inout _StrataReader) throws {
          throw reader.enumHasNoFields()
        }

        func encodeFields(to writer: inout _StrataWriter) throws {
          switch self {
          case .cash:
            try writer.beginCase(Self.schema, "cash", count: 0)
          case .card(let a0, let a1):
            try writer.beginCase(Self.schema, "card", count: 2)
            try writer.payload("number", a0)
            try writer.payload("expiry", a1)
          case .both(let a0, let a1):
            try writer.beginCase(Self.schema, "both", count: 2)
            try writer.payload("_0", a0)
            try writer.payload("_1", a1)
          case .`default`(let a0):
            try writer.beginCase(Self.schema, "default", count: 1)
            try writer.payload("in", a0)
          }
          writer.endCase()
        }

        static func make(case name: String, payload: _StrataPayload) throws -> Self? {
          switch name {
          case "cash":
            let made: Self = .cash
            return made
          case "card":
            let made: Self = .card(number: try payload.value("number"), expiry: try payload.value("expiry"))
            return made
          case "both":
            let made: Self = .both(try payload.value("_0"), try payload.value("_1"))
            return made
          case "default":
            let made: Self = .`default`(in: try payload.value("in"))
            return made
          default: return nil
          }
        }
      }
      """#)
  }
}
