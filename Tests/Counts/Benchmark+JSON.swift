import Foundation
import StrataCore

extension Benchmark {
  /// Decodes models from JSON text and encodes them.
  static var json: [Benchmark] {
    json("small", calls: 100, { Small.make(number: 7) }, text: { try JSONWriter().write($0) })
      + json("tweets", { try Tweet.make(100) }, text: { try $0.serverText() })
  }

  private static func json<T: Archivable & Equatable>(
    _ name: String, calls: Int = 1, _ make: @escaping () throws -> T, text: @escaping (T) throws -> Data
  ) -> [Benchmark] {
    let (reader, writer) = (JSONReader(), JSONWriter())
    return [
      Benchmark("json/read-\(name)", calls: calls) {
        let value = try make()
        let text = try text(value)
        try check(try reader.read(T.self, from: text) == value, "JSON of \(name)")
        return { consume(try reader.read(T.self, from: text)) }
      },
      Benchmark("json/write-\(name)", calls: calls) {
        let value = try make()
        try check(try reader.read(T.self, from: writer.write(value)) == value, "JSON of \(name)")
        return { consume(try writer.write(value)) }
      },
    ]
  }
}
