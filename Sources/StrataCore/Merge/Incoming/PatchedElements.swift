/// The elements that a list had before a patch was applied, with lookup by identity.
struct PatchedElements {
  private let elements: [ArchiveValue]
  private let identity: ((ArchiveValue) -> ArchiveValue?)?
  private var places: [ElementKey: Int] = [:]
  /// The keys assigned so far to the elements of the patched list.
  private var keys = ElementKeys()

  init(_ elements: [ArchiveValue], _ type: any Archivable.Type, _ context: DecodingContext) {
    self.elements = elements
    guard case .model(let model) = type.typeShape.kind, case let schema = model.schema, let key = schema.identityKey
    else {
      identity = nil
      return
    }
    let plan = context.json.plan(of: schema)
    // An element that cannot be read is treated as an element without an identity. When the merge reads the element later, it throws the
    // error.
    identity = {
      guard let values = try? plan.read($0, in: context, suppliesMissing: false).values else { return nil }
      return key.value { schema.fullShape.place(of: $0).flatMap { values[$0] } }
    }
    var keys = ElementKeys()
    for (place, element) in elements.enumerated() {
      guard let id = identity?(element), !id.isNull else { continue }
      places[keys.key(for: id)] = place
    }
  }

  /// Returns the element of the old list that corresponds to an element of the patched list; `nil` if there is none. Must be called for all
  /// elements of the patched list in order, because elements with the same identity are numbered in this order.
  mutating func counterpart(of element: ArchiveValue, at place: Int, of count: Int) -> ArchiveValue? {
    if let id = identity?(element), !id.isNull { return places[keys.key(for: id)].map { elements[$0] } }
    return count == elements.count ? elements[place] : nil
  }
}
