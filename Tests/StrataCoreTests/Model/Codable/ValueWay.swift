import Foundation

@testable import StrataCore

/// Encodes and decodes Codable types with a simple, slow coder. The tests compare its results with the library's.
enum ValueWay {
  static func encode<T: Encodable>(_ value: T, with encoder: ArchiveEncoder) throws -> Data {
    let content = try self.value(of: value)
    return try encoder.archive(encoder.stamp(ofCodable: T.self)) { try $0.write(content) }
  }

  static func value<T: Encodable>(of value: T) throws -> ArchiveValue {
    if let value = value as? any Archivable { return try value.archivedValue() }
    return try ValueEncoder.value(of: value)
  }

  static func make<T: Decodable>(_ type: T.Type, from value: ArchiveValue, in context: DecodingContext) throws -> T {
    if let type = type as? any Archivable.Type, let made = try type.decode(from: value, in: context) as? T {
      return made
    }
    do { return try ValueDecoder(value: value, codingPath: [], context: context).decodeSelf(T.self) } catch {
      throw ArchiveError(decoding: error)
    }
  }

  static func decode<T: Decodable>(_ type: T.Type, from body: [UInt8], with decoder: ArchiveDecoder) throws -> T {
    var report = DecodingReport()
    return try decoder.decode(body.bytes, fileSize: body.count, &report) {
      try make(type, from: $0.readValue(), in: $0.context)
    }
  }

  /// Decodes the same body with the library.
  static func decodeDirectly<T: Decodable>(
    _ type: T.Type, from body: [UInt8], with decoder: ArchiveDecoder
  ) throws -> T {
    var report = DecodingReport()
    return try decoder.decode(body.bytes, fileSize: body.count, &report) { try $0.readCodable(type) }
  }

  /// The body of an uncompressed archive.
  static func body(of archive: Data) throws -> [UInt8] {
    try ArchiveDecoder().withBody(of: archive, newestVersion: nil) { _, body in
      (0..<body.byteCount).map { body.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
    }
  }
}

/// A result for comparison: the value or the complete error.
enum CodableOutcome: Equatable, CustomStringConvertible {
  case result(String)
  case failure(String)

  init<T>(_ work: () throws -> T, describing: (T) -> String = { "\($0)" }) {
    do { self = .result(describing(try work())) } catch { self = .failure(Self.text(of: error)) }
  }

  var description: String {
    switch self {
    case .result(let text): text
    case .failure(let text): "error: \(text)"
    }
  }

  static func text(of error: any Error) -> String {
    switch error {
    case let error as ArchiveError:
      "\(error.code) \(error.reason) \(error.codingPath) \(error.typeName ?? "") \(error.limit.map { "\($0)" } ?? "") "
        + "\(error.byteOffset.map { "\($0)" } ?? "") \(error.underlyingError.map { text(of: $0) } ?? "")"
    case DecodingError.typeMismatch(let type, let context): "mismatch of \(type) \(text(of: context))"
    case DecodingError.valueNotFound(let type, let context): "no value of \(type) \(text(of: context))"
    case DecodingError.keyNotFound(let key, let context): "no key \(key.stringValue) \(text(of: context))"
    case DecodingError.dataCorrupted(let context): "corrupted \(text(of: context))"
    case EncodingError.invalidValue(_, let context):
      "invalid \(context.debugDescription) \(context.codingPath.map(\.stringValue))"
    default: "\(error)"
    }
  }

  private static func text(of context: DecodingError.Context) -> String {
    let path = context.codingPath.map { "\($0.stringValue)/\($0.intValue.map(String.init) ?? "-")" }
    return "\(context.debugDescription) \(path)"
  }
}
