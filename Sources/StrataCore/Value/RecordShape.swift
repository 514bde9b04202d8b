import Synchronization

/// The type name, the model version and the keys that records of one kind share.
///
/// Records of the same kind point to one shape, so a record costs one array of values, and renaming a key is a
/// change of shape that all records of a kind share.
package final class RecordShape: Sendable {
  package let typeName: String
  package let modelVersion: Int?
  package let keys: [String]
  private let places: [ExactKey: Int]
  private let changes = Mutex<[Change: RecordShape]>([:])

  private enum Change: Hashable {
    case add(String)
    case remove(Int)
    case rename(Int, String)
    case version(String, Int?)
  }

  package init(typeName: String, modelVersion: Int?, keys: [String]) {
    self.typeName = typeName
    self.modelVersion = modelVersion
    self.keys = keys
    places = Dictionary(keys.enumerated().map { (ExactKey($1), $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Whether no key stands twice.
  package var keysAreUnique: Bool { places.count == keys.count }

  package func place(of key: String) -> Int? { places[ExactKey(key)] }

  /// Type name and version in one string, as the definition of a record holds it: `Issue@3`, or `Issue` where
  /// no version was written.
  package var mark: String {
    guard let modelVersion else { return typeName }
    return "\(typeName)@\(modelVersion)"
  }

  /// Splits a mark at its last `@`, where a number follows.
  package static func parseMark(_ mark: String) -> (typeName: String, modelVersion: Int?) {
    guard let at = mark.lastIndex(of: "@") else { return (mark, nil) }
    let digits = mark[mark.index(after: at)...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }), let version = Int(digits) else {
      return (mark, nil)
    }
    return (String(mark[..<at]), version)
  }

  /// Whether the mark can be taken apart again: a name that ends like a version cannot, and a version is not negative.
  package var hasPlainMark: Bool { Self.parseMark(mark) == (typeName, modelVersion) }

  package func adding(_ key: String) -> RecordShape {
    changed(.add(key)) { ($0.typeName, $0.modelVersion, $0.keys + [key]) }
  }

  package func removing(at place: Int) -> RecordShape {
    changed(.remove(place)) { shape in
      var keys = shape.keys
      keys.remove(at: place)
      return (shape.typeName, shape.modelVersion, keys)
    }
  }

  package func renaming(at place: Int, to key: String) -> RecordShape {
    changed(.rename(place, key)) { shape in
      var keys = shape.keys
      keys[place] = key
      return (shape.typeName, shape.modelVersion, keys)
    }
  }

  package func named(_ typeName: String, version: Int?) -> RecordShape {
    changed(.version(typeName, version)) { (typeName, version, $0.keys) }
  }

  private func changed(
    _ change: Change, _ make: (RecordShape) -> (String, Int?, [String])
  ) -> RecordShape {
    changes.withLock { changes in
      if let known = changes[change] { return known }
      let (typeName, modelVersion, keys) = make(self)
      let shape = RecordShape(typeName: typeName, modelVersion: modelVersion, keys: keys)
      // Keys that come from data could make shapes without end.
      if changes.count < 64 { changes[change] = shape }
      return shape
    }
  }
}

extension RecordShape: Hashable {
  package static func == (left: RecordShape, right: RecordShape) -> Bool {
    left === right
      || left.typeName == right.typeName && left.modelVersion == right.modelVersion && left.hasSameKeys(as: right)
  }

  private func hasSameKeys(as other: RecordShape) -> Bool {
    keys.count == other.keys.count && zip(keys, other.keys).allSatisfy { ExactKey.isSame($0, $1) }
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(typeName)
    hasher.combine(modelVersion)
    hasher.combine(keys)
  }
}
