internal import GRDB
public import StrataCore

/// The state of an object's row when the object was fetched. A save uses this state as the base for merging the object with the
/// row.
///
///     @Model(version: 1)
///     struct Todo {
///       let id: String
///       var title: String
///       var fetched = RowBase()
///     }
///
/// If an entity has a stored property of this type, saving a fetched object writes only the changes made since the fetch, as
/// described for ``EntityStore/save(_:matching:conflicts:overwriting:)-(E,_,_,_)``. An ``EntityStore`` sets the property when
/// it fetches an object. After a save, the store updates the property of class instances. Objects that GRDB fetches without an
/// ``EntityStore`` have no base. The property has no column, is not part of archives and JSON, and is ignored when objects are
/// compared.
public struct RowBase: Sendable, Hashable {
  let box: Box

  /// Creates an empty base, for an object that was not fetched.
  public init() { box = Box(nil) }

  init(_ box: Box) { self.box = box }

  /// Whether the base is known. True if the object was fetched, or if it is a class instance that was saved.
  public var isKnown: Bool { box.place != nil }

  /// The keys of the relations that were not read when the object was fetched, as described for
  /// ``EntityStore/fetchAll(_:including:)``.
  public var unread: Set<String> { box.place?.row.unread ?? [] }

  public static func == (left: RowBase, right: RowBase) -> Bool { true }
  public func hash(into hasher: inout Hasher) {}
}

extension RowBase {
  /// The storage of a base. Copies of a structure share one box. Each class instance has its own box.
  final class Box: Sendable {
    private struct Live {
      var last: Int64 = 0
      var boxes: [Int64: Weak] = [:]
    }
    private struct Weak { weak var box: Box? }
    private struct State {
      var place: FetchedRows.RowReference?
      var token: Int64?
    }

    private static let live = Mutex(Live())
    private let state: Mutex<State>

    init(_ place: FetchedRows.RowReference?) { state = Mutex(State(place: place)) }

    deinit {
      guard let token = state.withLock({ $0.token }) else { return }
      Self.live.withLock { _ = $0.boxes.removeValue(forKey: token) }
    }

    var place: FetchedRows.RowReference? { state.withLock { $0.place } }

    func move(to place: FetchedRows.RowReference) { state.withLock { $0.place = place } }

    /// A number that represents the box in the field values of a model while the model is decomposed for a merge or a copy.
    var token: Int64 {
      state.withLock { state in
        if let token = state.token { return token }
        let token = Self.live.withLock { live in
          live.last += 1
          live.boxes[live.last] = Weak(box: self)
          return live.last
        }
        state.token = token
        return token
      }
    }

    static func of(_ token: Int64) -> Box? { live.withLock { $0.boxes[token]?.box } }
  }

  /// Returns the box that the token in a model's field value represents, or `nil` if there is none.
  static func box(of value: ArchiveValue?) -> Box? {
    guard case .array(let values)? = value, values.count == 1, case .int(let token) = values[0] else { return nil }
    return Box.of(token)
  }
}

extension RowBase: Archivable {
  public func write(to writer: inout ArchiveWriter) throws {
    try writer.write(writer.includesExcluded ? ArchiveValue.array([.int(box.token)]) : .null)
  }

  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> RowBase {
    if case .int(let number) = value, let rows = context.options as? FetchedRows,
      rows.rows.indices.contains(Int(number))
    {
      return RowBase(Box(.init(rows: rows, number: Int(number))))
    }
    guard context.includesExcluded, let box = box(of: value) else { return RowBase() }
    // An object that is decoded for an update or from a dictionary is a copy. It is saved independently of the original, so it
    // gets a separate box.
    return context.source == .update || context.source == .dictionary ? RowBase(Box(box.place)) : RowBase(box)
  }
}

extension RowBase: LibraryField {}

extension RowBase: CustomStringConvertible {
  /// `fetched` or `not fetched`, without column values.
  public var description: String { isKnown ? "fetched" : "not fetched" }
}
