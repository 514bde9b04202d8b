/// The changes that a merge makes to a list. They refer to existing elements by index, so that unchanged elements are not created again.
struct ListChanges {
  enum Choice {
    /// The element at this index of the local list, unchanged.
    case local(Int)
    /// The element at this index of the server's list. If `into` is not `nil`, its fields are copied to the local element at index `into`.
    case server(Int, into: Int?)
    /// An element created from these fields. If `into` is not `nil`, the fields are copied to the local element at index `into`.
    case made(ModelRecord, into: Int?)
    /// A class instance, identified by its object number.
    case object(Int)
  }

  /// The indices of the local elements to replace, with the replacements.
  var changes: [(index: Int, choice: Choice)] = []
  /// The new elements from the index `start` to the end of the list; `nil` if the list keeps its length and order.
  var rest: (start: Int, choices: [Choice])?

  init() {}

  /// Creates the changes that turn the local list into the merged one.
  ///
  /// - Parameter key: the key that identifies elements.
  init(of merged: [ArchiveValue], since local: [ArchiveValue], by key: IdentityKey) {
    func keys(of elements: [ArchiveValue]) -> [ElementKey] {
      var keys = ElementKeys()
      return elements.map { keys.key(for: $0[key].flatMap { $0.isNull ? nil : $0 } ?? $0) }
    }
    let indices = Dictionary(zip(keys(of: local), local.indices), uniquingKeysWith: { first, _ in first })
    let choices = zip(keys(of: merged), merged).map { key, element -> Choice in
      if case .reference(let number) = element { return .object(number) }
      let index = indices[key]
      if let index, element.isEqual(to: local[index]) { return .local(index) }
      return .made(element.recordValue ?? ModelRecord(typeName: "", modelVersion: nil), into: index)
    }
    rest = (0, choices)
  }

  /// Whether the changes alter a list of `count` elements.
  func changeList(of count: Int) -> Bool {
    guard changes.isEmpty else { return true }
    guard let rest else { return false }
    guard rest.choices.count == count - rest.start else { return true }
    return zip(rest.start..., rest.choices).contains { index, choice in
      if case .local(index) = choice { false } else { true }
    }
  }
}

extension Array where Element: VersionedModel {
  /// Returns this list with the changes applied. All other elements are unchanged. An element that receives new fields keeps the values of
  /// its properties that are not fields.
  ///
  /// - Parameters:
  ///   - server: the server's elements.
  ///   - key: the key that identifies elements.
  ///   - runsHooks: whether created elements have hooks or rules to run.
  func applying(
    _ changes: ListChanges, _ server: [Element], by key: IdentityKey, _ graph: MergeGraph, runsHooks: Bool,
    in context: DecodingContext
  ) throws -> (root: [Element], finished: [MergeCommit.Finished]) {
    var result = self
    var finished: [MergeCommit.Finished] = []
    func made(_ fields: ModelRecord) throws -> Element {
      let element = try graph.decode(Element.self, from: fields, in: context)
      guard runsHooks, context.finishesModels else { return element }
      let after = try element.shallowRecord(graph.referenced)
      if !after.isEqual(to: fields) {
        let step = ValuePath.Component.element(key: key, id: after[key] ?? .null)
        finished.append(.init(number: nil, steps: [step], before: fields, after: after))
      }
      return element
    }
    func set(_ index: Int, _ choice: ListChanges.Choice) throws {
      do {
        let element: Element
        let own: Int?
        switch choice {
        case .local(let place): (element, own) = (self[place], nil)
        case .object(let number): (element, own) = (try graph.table.object(number, as: Element.self, in: context), nil)
        case .server(let place, let into):
          own = into
          element = runsHooks ? try made(server[place].shallowRecord(graph.referenced)) : server[place]
        case .made(let fields, let into): (element, own) = (try made(fields), into)
        }
        if index == result.count { result.append(own.map { self[$0] } ?? element) }
        if let own {
          if own != index { result[index] = self[own] }
          try result[index].adoptFields(of: element)
        } else {
          result[index] = element
        }
      } catch { throw ArchiveError.at(.index(index), MergeCommit.failure(error, Element.schema)) }
    }
    for change in changes.changes { try set(change.index, change.choice) }
    if let rest = changes.rest {
      result.removeLast(result.count - rest.start)
      for choice in rest.choices { try set(result.count, choice) }
    }
    return (result, finished)
  }
}
