import StrataCore
import StrataTestSupport

/// Patches between two trees, computed without the library's diffs.
enum TreePatch {
  /// A merge patch (RFC 7396), in which null removes a key.
  static func merging(_ old: Tree, _ new: Tree, _ shape: Shape) -> Tree {
    guard case .object(let before) = old, case .object(let after) = new else { return withoutNulls(new, shape) }
    switch shape {
    case .model, .dictionary, .choice: break
    case .leaf, .list: return new
    }
    var patch = ArchiveObject()
    for entry in after.entries {
      let inside = ModelShape.shape(at: [entry.key], in: shape) ?? .leaf(.automatic)
      guard let value = before[entry.key] else {
        patch[entry.key] = withoutNulls(entry.value, inside)
        continue
      }
      guard value.canonicalText != entry.value.canonicalText else { continue }
      let isCase = if case .choice = shape { true } else { false }
      patch[entry.key] = merging(value, entry.value, isCase ? .dictionary(.leaf(.automatic)) : inside)
    }
    for key in before.keys where after[key] == nil { patch[key] = .null }
    return .object(patch)
  }

  /// A merge patch cannot set nulls in a new object, so this omits the keys that are null. An absent key means the same as null.
  private static func withoutNulls(_ value: Tree, _ shape: Shape) -> Tree {
    guard case .object(let object) = value else { return value }
    return .object(
      ArchiveObject(
        object.entries.filter { !$0.value.isNull }.map { entry in
          .init(key: entry.key, value: withoutNulls(entry.value, shape))
        }))
  }

  /// A JSON patch (RFC 6902). If a field becomes null, the patch either removes it or replaces it with null.
  static func operations(
    _ old: Tree, _ new: Tree, _ shape: Shape, _ path: [String], _ random: inout SeededRandom
  ) -> [JSONPatch.Operation] {
    guard old.canonicalText != new.canonicalText else { return [] }
    func pointer(_ path: [String]) -> ValuePath { ValuePath(path.map { .key($0) }) }
    switch (shape, old, new) {
    case (.model(let model), .object(let before), .object(let after)):
      return model.fields.flatMap { field -> [JSONPatch.Operation] in
        guard let old = before[field.key], let new = after[field.key], old.canonicalText != new.canonicalText else {
          return []
        }
        let place = path + [field.key]
        if new.isNull, random.isOnce(in: 2) { return [.remove(pointer(place))] }
        return operations(old, new, field.shape, place, &random)
      }
    case (.dictionary(let inside), .object(let before), .object(let after)):
      var result: [JSONPatch.Operation] = []
      for key in before.keys where after[key] == nil { result.append(.remove(pointer(path + [key]))) }
      for entry in after.entries {
        if let value = before[entry.key] {
          result += operations(value, entry.value, inside, path + [entry.key], &random)
        } else {
          result.append(.add(pointer(path + [entry.key]), entry.value))
        }
      }
      return result
    case (.list(let model), .array(let before), .array(let after)):
      if Flat.names(of: before, model) == Flat.names(of: after, model) {
        return zip(before, after).enumerated().flatMap { place, pair in
          operations(pair.0, pair.1, .model(model), path + [String(place)], &random)
        }
      }
      if after.count == before.count + 1, zip(before, after).allSatisfy({ $0.canonicalText == $1.canonicalText }) {
        return [.add(pointer(path + ["-"]), after[before.count])]
      }
      return [.replace(pointer(path), new)]
    default: return [.replace(pointer(path), new)]
    }
  }
}
