/// Merges texts line by line with diff3, as described by Khanna, Kunal and Pierce ("A formal investigation of diff3", 2007).
enum LineMerge {
  /// Returns the merged text; `nil` if both sides changed the same or neighbouring lines, or if too many lines differ.
  static func merge(base: String, local: String, server: String) -> String? {
    let (old, own, other) = (lines(base), lines(local), lines(server))
    guard let ours = matches(old, own), let theirs = matches(old, other) else { return nil }
    var result = ""
    var (place, ownPlace, otherPlace) = (0, 0, 0)
    while place < old.count || ownPlace < own.count || otherPlace < other.count {
      if place < old.count, ours[place] == ownPlace, theirs[place] == otherPlace {
        result += old[place]
        (place, ownPlace, otherPlace) = (place + 1, ownPlace + 1, otherPlace + 1)
        continue
      }
      // Finds the next line that all three texts contain. The lines before it form one changed section.
      var next = place
      while next < old.count {
        if let own = ours[next], let other = theirs[next], own >= ownPlace, other >= otherPlace { break }
        next += 1
      }
      let ownNext = next < old.count ? ours[next] ?? own.count : own.count
      let otherNext = next < old.count ? theirs[next] ?? other.count : other.count
      let (before, mine, yours) = (old[place..<next], own[ownPlace..<ownNext], other[otherPlace..<otherNext])
      if mine.elementsEqual(yours) || yours.elementsEqual(before) {
        result += mine.joined()
      } else if mine.elementsEqual(before) {
        result += yours.joined()
      } else {
        return nil
      }
      (place, ownPlace, otherPlace) = (next, ownNext, otherNext)
    }
    return result
  }

  /// Splits a text after each line feed. Unicode scalars are compared, so that CR LF, a single character in Swift, also ends a line.
  private static func lines(_ text: String) -> [String] {
    var lines: [String] = []
    var current = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      current.append(scalar)
      if scalar == "\n" {
        lines.append(String(current))
        current = String.UnicodeScalarView()
      }
    }
    if !current.isEmpty { lines.append(String(current)) }
    return lines
  }

  /// For each line of the old text, returns the index of the matching line of the new text; `nil` for a removed line. Returns `nil` instead
  /// of an array if too many lines differ.
  private static func matches(_ old: [String], _ new: [String]) -> [Int?]? {
    guard let difference = ElementDifference(old.map { ExactKey($0) }, new.map { ExactKey($0) }), !difference.isLarge
    else { return nil }
    let removed = Set(difference.removed), added = Set(difference.added)
    var found = new.indices.filter { !added.contains($0) }[...]
    return old.indices.map { removed.contains($0) ? nil : found.popFirst() }
  }
}
