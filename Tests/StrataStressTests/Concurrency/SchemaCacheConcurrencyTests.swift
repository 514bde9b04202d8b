import StrataCore
import Testing

private enum Pair<First, Second> {}

@Suite struct SchemaCacheConcurrencyTests {
  private static let types: [Any.Type] = {
    let parts: [Any.Type] = [
      Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self, UInt32.self,
      UInt64.self, Bool.self, String.self, Double.self, Float.self, Character.self, [Int].self, [String].self,
      Int?.self, String?.self, Set<Int>.self,
    ]
    func pair<First, Second>(_ first: First.Type, _ second: Second.Type) -> Any.Type { Pair<First, Second>.self }
    return parts.flatMap { first in parts.map { second in pair(first, second) } }
  }()

  private static func schema<T>(_ type: T.Type) -> ModelSchema {
    ModelSchema.cached(type) { ModelSchema(type, name: String(describing: type), version: 1) }
  }

  /// The table grows several times while other tasks read it.
  @Test func eachTypeHasOneSchema() async {
    let found = await withTaskGroup(of: [ObjectIdentifier].self) { group in
      for task in 0..<100 {
        group.addTask {
          let order = Self.types.indices.map { ($0 + task * 7) % Self.types.count }
          var schemas = [ObjectIdentifier?](repeating: nil, count: Self.types.count)
          for place in order {
            let schema = Self.schema(Self.types[place])
            if schema.name == String(describing: Self.types[place]) { schemas[place] = ObjectIdentifier(schema) }
          }
          return schemas.compactMap { $0 }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(found.allSatisfy { $0.count == Self.types.count })
    #expect(Set(found).count == 1)
    #expect(Set(found.first ?? []).count == Self.types.count)
  }
}
