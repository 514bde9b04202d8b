/// How the fields of a record stand in JSON: those whose paths begin alike share an object, at the place of the first.
final class JSONLayout: Sendable {
  /// One member of an object.
  struct Member: Sendable {
    /// The key as it stands in the text, with its quotes.
    let key: [UInt8]
    let content: Content
  }

  enum Content: Sendable {
    /// The field with this place in the record.
    case field(Int)
    case object([Member])
  }

  let members: [Member]
  /// The keys of the fields, for the paths of errors.
  let names: [String]
  private let typeName: String
  /// Whether the members are the fields, one after the other.
  let isFlat: Bool
  /// Why no JSON can be written.
  let problem: ArchiveError?

  init(_ fields: [(key: String, path: [String])], typeName: String) {
    var root = Group()
    var problem: ArchiveError?
    for (place, field) in fields.enumerated() where !root.add(field.path[...], place) && problem == nil {
      problem = ArchiveError(
        .invalidMapping, "JSON has one place for \(field.key) and a field before it; give one of them another path",
        path: [.key(field.key)], typeName: typeName)
    }
    members = root.members
    names = fields.map(\.key)
    self.typeName = typeName
    isFlat = problem == nil && fields.allSatisfy { $0.path.count == 1 }
    self.problem = problem
  }

  /// The layout of a record whose keys are members.
  convenience init(_ shape: RecordShape, _ schema: ModelSchema?) {
    let paths = Dictionary(
      (schema?.fields ?? []).map { (ExactKey($0.key), $0.jsonPath.keys) }, uniquingKeysWith: { first, _ in first })
    self.init(shape.keys.map { ($0, paths[ExactKey($0)] ?? [$0]) }, typeName: shape.typeName)
  }

  /// The error with a field before its path.
  func located(_ error: any Error, _ field: Int) -> ArchiveError {
    ArchiveError.at(.key(names[field]), error).inType(typeName)
  }

  /// An object that is being put together.
  private struct Group {
    indirect enum Content {
      case field(Int)
      case group(Group)
    }
    var entries: [(key: String, content: Content)] = []

    /// Adds a field; answers `false` where something else stands at its place.
    mutating func add(_ path: ArraySlice<String>, _ field: Int) -> Bool {
      guard let key = path.first else { return false }
      let rest = path.dropFirst()
      if let known = entries.firstIndex(where: { ExactKey.isSame($0.key, key) }) {
        guard !rest.isEmpty, case .group(var group) = entries[known].content else { return false }
        guard group.add(rest, field) else { return false }
        entries[known].content = .group(group)
        return true
      }
      if rest.isEmpty {
        entries.append((key, .field(field)))
        return true
      }
      var group = Group()
      let isAdded = group.add(rest, field)
      entries.append((key, .group(group)))
      return isAdded
    }

    var members: [Member] {
      entries.map { entry in
        var key = ByteBuffer(minimumCapacity: 64)
        ByteBuffer.withUTF8(of: entry.key) { key.append(jsonString: $0.bytes) }
        switch entry.content {
        case .field(let place): return Member(key: key.array(), content: .field(place))
        case .group(let group): return Member(key: key.array(), content: .object(group.members))
        }
      }
    }
  }
}
