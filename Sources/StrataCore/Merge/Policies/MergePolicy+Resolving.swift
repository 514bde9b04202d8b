extension MergePolicy {
  /// The result of a policy for a value that is not merged key by key: the merged value, or a conflict.
  enum Resolution {
    case value(ArchiveValue?)
    case conflict
  }

  /// Decides between the local and the server's value, if both sides changed the value or the base is not known.
  ///
  /// Policies for nested values act like ``automatic`` here.
  ///
  /// - Parameter times: returns the local and the server's value of the field with the given key, which contains the times that a
  ///   `lastWriter` policy compares.
  func resolve(
    _ sides: MergePolicy.Sides, times: (String) -> (local: ArchiveValue?, server: ArchiveValue?)
  ) throws -> Resolution {
    let (local, server) = (sides.local, sides.server)
    switch rule {
    case .automatic, .recursive, .byID: return sides.isBaseKnown ? .conflict : .value(server)
    case .conflict: return .conflict
    case .server: return .value(server)
    case .local, .keepLocal: return .value(local)
    case .maximum: return try greater(sides, 1)
    case .minimum: return try greater(sides, -1)
    case .sumOfDeltas:
      guard sides.isBaseKnown else { return .value(server) }
      // If both sides cleared the value, the result is also cleared. The formula `local + server - base` would use 0 for both values, and
      // return the negated base.
      if local?.isNull ?? true, server?.isNull ?? true { return .value(local ?? server) }
      return MergeArithmetic.sum(sides).map { .value($0) } ?? .conflict
    case .union, .addWins: return .conflict
    case .append: return append(sides)
    case .lines:
      guard sides.isBaseKnown else { return .value(server) }
      guard case .string(let base)? = sides.base, case .string(let own)? = local, case .string(let other)? = server
      else { return .conflict }
      return LineMerge.merge(base: base, local: own, server: other).map { .value(.string($0)) } ?? .conflict
    case .lastWriter(let key):
      let (own, other) = times(key)
      return try later(sides, own, other)
    case .ifPresent(let policy):
      return server?.isNull ?? true ? .value(local) : try policy.resolve(sides, times: times)
    case .orElse(let policy, let other):
      if case .value(let value) = try policy.resolve(sides, times: times) { return .value(value) }
      return try other.resolve(sides, times: times)
    case .custom(let merge): return .value(try merge(local, server) ?? local)
    case .resolver(_, let resolve): return try resolve(sides).map { .value($0) } ?? .conflict
    }
  }

  /// Returns the greater or the smaller of the two values.
  ///
  /// - Parameter sign: 1 for the greater value, -1 for the smaller one.
  private func greater(_ sides: MergePolicy.Sides, _ sign: Int) throws -> Resolution {
    guard let local = sides.local, !local.isNull else {
      return .value(sides.server.map { $0.isNull ? sides.local ?? $0 : $0 } ?? sides.local)
    }
    guard let server = sides.server, !server.isNull else { return .value(local) }
    guard let order = ValueOrder.compare(local, server) else { return .conflict }
    if order == 0 { return .value(try ValueOrder.isGreater(local, than: server) ? local : server) }
    return .value(order == sign ? local : server)
  }

  private func later(_ sides: MergePolicy.Sides, _ own: ArchiveValue?, _ other: ArchiveValue?) throws -> Resolution {
    let (own, other) = (Self.time(own), Self.time(other))
    guard let own else { return other == nil ? .conflict : .value(sides.server) }
    guard let other else { return .value(sides.local) }
    guard let order = ValueOrder.compare(own, other) else { return .conflict }
    guard order == 0 else { return .value(order > 0 ? sides.local : sides.server) }
    return .value(try ValueOrder.isGreater(sides.local, than: sides.server) ? sides.local : sides.server)
  }

  /// Returns a time in a form that ``ValueOrder`` can compare with dates. A string in ISO 8601 is converted to a date, and null becomes
  /// `nil`.
  private static func time(_ value: ArchiveValue?) -> ArchiveValue? {
    guard let value, !value.isNull else { return nil }
    guard case .string(let text) = value else { return value }
    return ISO8601.date(from: text).map { .date($0) } ?? value
  }

  private func append(_ sides: MergePolicy.Sides) -> Resolution {
    func known(_ value: ArchiveValue?) -> ArchiveValue? { value.flatMap { $0.isNull ? nil : $0 } }
    switch (known(sides.local), known(sides.server)) {
    case (.array(let own)?, .array(let other)?):
      let base: [ArchiveValue] = if case .array(let elements)? = known(sides.base) { elements } else { [] }
      return Self.appended(own, other, since: base) { $0 }.map { .value(.array($0)) } ?? .conflict
    case (.string(let own)?, .string(let other)?):
      let base: String = if case .string(let text)? = known(sides.base) { text } else { "" }
      let scalars = Self.appended(
        Array(own.unicodeScalars), Array(other.unicodeScalars), since: Array(base.unicodeScalars)
      ) { shared in
        // Two texts may begin with the same letters by chance, so only whole lines count as the same addition.
        shared[shared.startIndex..<(shared.lastIndex(of: "\n").map { $0 + 1 } ?? shared.startIndex)]
      }
      guard let scalars else { return .conflict }
      var text = String.UnicodeScalarView()
      text.append(contentsOf: scalars)
      return .value(.string(String(text)))
    default: return .conflict
    }
  }

  /// Returns the server's elements, followed by the elements that the local side appended. Elements that both sides appended occur only
  /// once. Returns `nil` if a side does not begin with the base, because the side has then done more than append elements.
  ///
  /// - Parameter added: given the common prefix of both sides' appended elements, returns the beginning of it that counts as the same
  ///   addition.
  private static func appended<T: Equatable>(
    _ own: [T], _ other: [T], since base: [T], _ added: (ArraySlice<T>) -> ArraySlice<T>
  ) -> [T]? {
    guard own.starts(with: base), other.starts(with: base) else { return nil }
    if own.starts(with: other) { return own }
    if other.starts(with: own) { return other }
    let shared = own[base.count..<(zip(own, other).prefix { $0 == $1 }.count)]
    return other + own[(base.count + added(shared).count)...]
  }
}

extension MergePolicy {
  /// The policies that ``MergePolicy/orElse(_:)`` has combined into this one, in the order in which they are tried.
  var alternatives: [MergePolicy] {
    if case .orElse(let policy, let other) = rule { policy.alternatives + other.alternatives } else { [self] }
  }

  /// The first of the policies that ``MergePolicy/orElse(_:)`` has combined into this one. For any other policy, the policy itself.
  var leading: MergePolicy { if case .orElse(let policy, _) = rule { policy.leading } else { self } }

  /// Returns this policy with its ``leading`` policy replaced. The fallbacks stay the same.
  func replacingLeading(by new: MergePolicy) -> MergePolicy {
    guard case .orElse(let policy, let other) = rule else { return new }
    return policy.replacingLeading(by: new).orElse(other)
  }
}
