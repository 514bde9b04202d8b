extension ValueMerger {
  /// The elements of one list: the base's, the local or the server's list. Each element is stored under the number of its identity.
  private struct Elements {
    var numbers: [Int] = []
    var values: [Int: ArchiveValue] = [:]
  }

  /// The base's, the local and the server's list. Each identity has a number, which is the same in all three lists.
  private struct IdentifiedLists {
    var base = Elements()
    var local = Elements()
    var server = Elements()
    /// The identities in all lists. The index of an identity is its number.
    var ids: [ArchiveValue] = []
    var components: [ValuePath.Component] = []
    /// The identities that several elements of the same list share.
    var duplicates = Set<ArchiveValue>()

    var order: ListOrder { ListOrder(base: base.numbers, local: local.numbers, server: server.numbers) }

    func places(_ surviving: Set<Int>, isBaseKnown: Bool) -> [Int] {
      isBaseKnown ? order.merged(surviving) : order.following(surviving)
    }
  }

  /// The identity of an element in a list: the value of the element's key, or the whole element if it has no key.
  private struct Identity: Hashable {
    let key: ElementKey
    let isKeyed: Bool
  }

  /// Returns the elements of all lists under the numbers of their identities.
  ///
  /// - Parameter key: the key that identifies elements; `nil` for the members of a set. Duplicate members of a set are skipped.
  private func identified(
    _ base: [ArchiveValue], _ local: [ArchiveValue], _ server: [ArchiveValue], by key: IdentityKey?
  ) throws -> IdentifiedLists {
    var lists = IdentifiedLists()
    var numbers: [Identity: Int] = [:]
    func elements(_ values: [ArchiveValue]) throws -> Elements {
      var result = Elements()
      var keys = ElementKeys()
      for element in values {
        let id = try key.flatMap { try graph.opened(element)[$0] }.flatMap { $0.isNull ? nil : $0 }
        let identity = Identity(key: keys.key(for: id ?? content(element)), isKeyed: id != nil)
        if identity.key.occurrence > 0 {
          if key == nil { continue }
          lists.duplicates.insert(identity.key.id)
        }
        let number = numbers[identity] ?? numbers.count
        if numbers.updateValue(number, forKey: identity) == nil {
          lists.ids.append(identity.key.id)
          lists.components.append(
            try id.flatMap { id in key.map { .element(key: $0, id: id) } } ?? .value(shown(element)))
        }
        result.numbers.append(number)
        result.values[number] = element
      }
      return result
    }
    // Identities get their numbers in the order in which they first occur, so that local elements come before elements that only the server
    // has.
    lists.local = try elements(local)
    lists.server = try elements(server)
    lists.base = try elements(base)
    return lists
  }

  /// Returns the content that identifies an element without a key. In this content, references are equal if they refer to matching objects
  /// (objects of the same entity).
  private func content(_ value: ArchiveValue) -> ArchiveValue {
    matching.map { value.canonical($0.canonical) } ?? value
  }

  /// Returns an element without a key in the form in which paths show it. A reference is replaced with the fields of its object: the local
  /// fields, or the merged fields of a new object.
  private func shown(_ element: ArchiveValue) throws -> ArchiveValue {
    guard element.hasReferences, let matching else { return element }
    var merger = self
    return try graph.shown(element) { number in
      guard let entity = matching.entity(of: number) else { return try graph.record(number) }
      if let local = matching.entities[entity][.local].first { return try graph.record(local) }
      // If a key without a default is missing, the new object cannot be completed. The path then shows only the fields that exist.
      return try (try? merger.newRecord(of: entity)) ?? graph.record(number)
    }
  }

  // MARK: By identity

  /// Merges the elements of two arrays or two sets by identity. Returns `nil` if the values are not both arrays or both sets.
  mutating func mergeElements(
    _ sides: MergePolicy.Sides, _ key: IdentityKey, _ unlisted: Unlisted?, _ policy: MergePolicy
  ) throws -> ArchiveValue? {
    guard let own = sides.local?.arrayValue, var other = sides.server?.arrayValue,
      case let isSet = sides.local?.isSet ?? false, isSet == sides.server?.isSet
    else { return nil }
    var old = sides.base?.arrayValue ?? []
    // An element without a key is identified by its content. To match a complete local element, the server's element must therefore be
    // complete, too.
    if incoming.hasParts {
      other = try other.enumerated().map { place, element in
        do { return try graph.opened(element)[key]?.isNull ?? true ? completed(element, over: []) : element } catch {
          throw ArchiveError.at(.index(place), error)
        }
      }
    }
    if isBaseRemembered {
      // The remembered base contains only the keys that the server sent. An element without a key is therefore completed here, too, so that
      // it has the same content as the local element.
      old = try old.map { element in
        guard try graph.opened(element)[key]?.isNull ?? true, isPart(element) else { return element }
        // If a missing key has no default, the element cannot be completed. It is then identified by the keys that it has.
        return (try? overlaid(element, over: [], fillsIn: true)) ?? element
      }
    }
    let lists = try identified(old, own, other, by: key)
    let (base, local, server) = (lists.base, lists.local, lists.server)
    var result: [Int: ArchiveValue] = [:]
    for number in local.numbers + server.numbers.filter({ local.values[$0] == nil }) {
      path.append(lists.components[number])
      // Elements with the same identity also have the same path. The user's decision about one of them must not resolve a conflict about a
      // different one, so no decision is recorded for this path.
      let isUnclear = lists.duplicates.contains(lists.ids[number])
      if isUnclear { unclearDepth += 1 }
      defer {
        path.removeLast()
        if isUnclear { unclearDepth -= 1 }
      }
      let element = self.sides(
        base.values[number], local.values[number], server.values[number], isBaseKnown: sides.isBaseKnown)
      do { result[number] = try mergeElement(element, unlisted, policy) } catch {
        throw ArchiveError.at(.index(server.numbers.firstIndex(of: number) ?? 0), error)
      }
    }
    let surviving = Set(result.keys)
    let places = lists.places(surviving, isBaseKnown: sides.isBaseKnown)
    let merged = places.compactMap { result[$0] }
    guard !isSet else { return try .set(ofMerged: merged) }
    noteOrder(sides, lists.order, surviving, places, policy, .array(merged))
    return .array(merged)
  }

  /// Returns the incoming value as it is stored in the next remembered base. If the merge keeps unlisted keys and elements, those that only
  /// the previous base has are added. Elements are compared by identity.
  func keepingUnlisted(
    _ value: ArchiveValue, of base: ArchiveValue, _ policy: MergePolicy, _ shape: TypeShape?
  ) throws -> ArchiveValue {
    let isDictionary = value.arrayValue == nil || shape?.isDictionary ?? false
    var (key, unlisted): (IdentityKey?, Unlisted?) = (nil, options.unlisted)
    switch policy.rule {
    case .orElse(let policy, _), .ifPresent(let policy): return try keepingUnlisted(value, of: base, policy, shape)
    case .automatic: key = identityKey(ofElements: base) ?? identityKey(ofElements: value)
    case .byID(let id, let named): (key, unlisted) = (id, isDictionary ? unlisted : named ?? unlisted)
    case .recursive, .conflict: break
    default: return value
    }
    guard unlisted == .keep || isIncomplete else { return value }
    if let own = value.members(arePairs: isDictionary), let olds = base.members(arePairs: isDictionary) {
      let known = Set(own.map(\.step))
      let rest = olds.filter { !known.contains($0.step) }
      return rest.isEmpty ? value : try (own.isEmpty ? base : value).with(own + rest).inCanonicalOrder()
    }
    // If the elements are lists, the arrangement of all models is merged as a single value, so no element of the previous base is added.
    guard let key, let own = value.arrayValue, let base = base.arrayValue, !value.listsContainers else { return value }
    let olds = try base.filter { try !(graph.opened($0)[key]?.isNull ?? true) }
    let lists = try identified(olds, olds, own, by: key)
    let elements = lists.base.values.merging(lists.server.values) { $1 }
    let merged = lists.order.merged(Set(elements.keys)).compactMap { elements[$0] }
    return value.isSet ? try .set(ofMerged: merged) : .array(merged)
  }

  /// Returns how a merge treats elements and keys that the source does not list.
  ///
  /// - Parameter named: the setting in the list's own policy; `nil` if the policy has none.
  func unlisted(_ named: Unlisted?, _ sides: MergePolicy.Sides) -> Unlisted {
    if isIncomplete { return .keep }
    // A patch explicitly lists the elements and keys that it removes, so `MergeOptions.unlisted` does not apply to it.
    if let rule = named ?? (incoming.removesAbsentKeys ? nil : options.unlisted) { return rule }
    if sides.isBaseKnown { return .removeUnlessEdited }
    return incoming.isWhole || incoming.removesAbsentKeys || incoming.hasWholeLists ? .remove : .keep
  }

  mutating func mergeElement(
    _ sides: MergePolicy.Sides, _ unlisted: Unlisted?, _ policy: MergePolicy
  ) throws -> ArchiveValue? {
    switch (sides.local, sides.server) {
    case (let local?, let server?):
      if areSame(local, server), !countsEqualChanges || areSame(sides.base, local) { return local }
      if let merged = try mergeNested(sides, local, server, .recursive, isMatched: true) { return merged }
      return try merge(sides, .automatic)
    case (let local?, nil):
      if sides.isBaseKnown, sides.base == nil {
        note(sides, .local, "inserted locally", local)
        return local
      }
      let isEdited = try sides.isBaseKnown && isEditedElement(sides, .local)
      let unlisted = self.unlisted(unlisted, sides)
      guard unlisted == .keep || unlisted == .removeUnlessEdited && isEdited else {
        note(sides, .server, "\(policy): missing on the server", nil)
        return nil
      }
      note(
        sides, .local,
        isIncomplete
          ? "\(policy): not among the valid elements"
          : "\(policy): missing on the server" + (isEdited ? ", but edited locally" : ""), local)
      return local
    case (nil, _?):
      let isNews = try isEditedElement(sides, .server)
      let sides = try completed(sides)
      if sides.isBaseKnown, sides.base != nil {
        guard isNews else {
          note(sides, .local, "removed locally", nil)
          return nil
        }
        return conflict(sides, policy)
      }
      note(sides, .server, sides.isBaseKnown ? "inserted by the server" : "missing locally", sides.server)
      return sides.server
    case (nil, nil): return nil
    }
  }

  /// Adds a note to the report if the merged list is ordered differently from the local or the server's list.
  mutating func noteOrder(
    _ sides: MergePolicy.Sides, _ order: ListOrder, _ surviving: Set<Int>, _ places: [Int], _ policy: MergePolicy,
    _ result: ArchiveValue?
  ) {
    func hasOrder(_ list: [Int]) -> Bool {
      let present = Set(list)
      return places.filter(present.contains) == list.filter(surviving.contains)
    }
    let (isOwn, isOther) = (hasOrder(order.local), hasOrder(order.server))
    guard !isOwn || !isOther else { return }
    // The note is only about the order, so it does not supersede recorded conflicts inside the elements.
    note(
      sides, isOther ? .server : isOwn ? .local : .merged, "\(policy): the order of the elements differs", result,
      decides: false)
  }

  // MARK: By content

  /// Merges the elements of arrays and sets by content, as the policies ``MergePolicy/union`` and ``MergePolicy/addWins`` require. Returns
  /// `nil` for values that are neither arrays nor sets.
  mutating func mergeMembers(
    _ sides: MergePolicy.Sides, _ policy: MergePolicy, isGrowOnly: Bool
  ) throws -> ArchiveValue? {
    func elements(_ value: ArchiveValue?) -> [ArchiveValue]? { value?.isNull ?? true ? [] : value?.arrayValue }
    guard let own = elements(sides.local), let other = elements(sides.server),
      (sides.local?.arrayValue ?? sides.server?.arrayValue) != nil
    else { return nil }
    let lists = try identified(elements(sides.base) ?? [], own, other, by: nil)
    let (base, local, server) = (lists.base, lists.local, lists.server)
    var surviving = Set(local.numbers).union(server.numbers)
    if !isGrowOnly {
      surviving = surviving.filter {
        base.values[$0] == nil || (local.values[$0] != nil && server.values[$0] != nil)
      }
    }
    let places = lists.places(surviving, isBaseKnown: sides.isBaseKnown)
    let values = places.compactMap { local.values[$0] ?? server.values[$0] }
    let isSet = (sides.local ?? sides.server)?.isSet ?? false
    let result: ArchiveValue = isSet ? try .set(ofMerged: values) : .array(values)
    note(sides, decidedBy: policy, result)
    return result
  }
}

extension ArchiveValue {
  var isSet: Bool { if case .set = self { true } else { false } }

  /// Creates a set of merged values in canonical order, without duplicates. Values that contain NaN are never duplicates, as in Swift's
  /// `Set`.
  static func set(ofMerged values: [ArchiveValue]) throws -> ArchiveValue {
    var seen = Set<ArchiveValue>()
    let members = values.filter { seen.insert($0).inserted || $0.hasNaN }
    // The canonical order is the order of the encoded bytes, and references have no such bytes yet. The archive writer later sorts sets
    // with references by the content of the objects.
    guard !members.contains(where: \.hasReferences) else { return .set(members) }
    return .set(try CanonicalOrder.sorted(members) { try $0.write($1) })
  }
}
