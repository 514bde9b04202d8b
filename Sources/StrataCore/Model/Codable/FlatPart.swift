import Foundation

/// A type whose values become parts, and are made of parts, without an ``ArchiveValue`` in between.
///
/// The result must be that of ``Archivable/archivedValue(includingExcluded:role:)`` and ``Archivable/make(from:in:)``. Where
/// a type leaves something to them, this includes all errors.
protocol FlatPart: Archivable {
  /// Puts the value into a part, or returns `false` where its archived value has to be put there.
  func put(into flat: inout FlatValue, at place: UInt32) -> Bool

  /// The value of a part.
  ///
  /// - Throws: as ``Archivable/make(from:in:)``.
  static func make(of source: FlatSource, at place: UInt32) throws -> Self
}

extension Bool: FlatPart {
  func put(into flat: inout FlatValue, at place: UInt32) -> Bool {
    flat.set(place, self)
    return true
  }
  static func make(of source: FlatSource, at place: UInt32) throws -> Bool {
    let part = source.part(place)
    return try part.kind == .bool ? part.content != 0 : source.makeScalar(at: place)
  }
}

extension FlatPart where Self: FixedWidthInteger {
  func put(into flat: inout FlatValue, at place: UInt32) -> Bool {
    if let small = Int64(exactly: self) { flat.set(place, small) } else { flat.set(place, ArchiveValue.integer(self)) }
    return true
  }
  static func make(of source: FlatSource, at place: UInt32) throws -> Self {
    let part = source.part(place)
    if part.kind == .int, let integer = Self(exactly: Int64(bitPattern: part.content)) { return integer }
    return try source.makeScalar(at: place)
  }
}
extension Int: FlatPart {}
extension Int8: FlatPart {}
extension Int16: FlatPart {}
extension Int32: FlatPart {}
extension Int64: FlatPart {}
extension Int128: FlatPart {}
extension UInt: FlatPart {}
extension UInt8: FlatPart {}
extension UInt16: FlatPart {}
extension UInt32: FlatPart {}
extension UInt64: FlatPart {}
extension UInt128: FlatPart {}

extension Double: FlatPart {
  func put(into flat: inout FlatValue, at place: UInt32) -> Bool {
    flat.set(place, self)
    return true
  }
  static func make(of source: FlatSource, at place: UInt32) throws -> Double {
    let part = source.part(place)
    return try part.kind == .double ? Double(bitPattern: part.content) : source.makeScalar(at: place)
  }
}

extension Float: FlatPart {
  func put(into flat: inout FlatValue, at place: UInt32) -> Bool {
    flat.set(place, self)
    return true
  }
  static func make(of source: FlatSource, at place: UInt32) throws -> Float {
    let part = source.part(place)
    guard part.kind == .float else { return try source.makeScalar(at: place) }
    return Float(bitPattern: UInt32(truncatingIfNeeded: part.content))
  }
}

extension String: FlatPart {
  func put(into flat: inout FlatValue, at place: UInt32) -> Bool {
    flat.set(place, self)
    return true
  }
  static func make(of source: FlatSource, at place: UInt32) throws -> String {
    let part = source.part(place)
    return try part.kind == .text ? source.text(part) : source.makeScalar(at: place)
  }
}

extension Date: FlatPart {
  func put(into flat: inout FlatValue, at place: UInt32) -> Bool {
    flat.set(place, self)
    return true
  }
  static func make(of source: FlatSource, at place: UInt32) throws -> Date {
    let part = source.part(place)
    guard part.kind == .date else { return try source.makeScalar(at: place) }
    return Date(timeIntervalSinceReferenceDate: Double(bitPattern: part.content))
  }
}

extension URL: FlatPart {
  func put(into flat: inout FlatValue, at place: UInt32) -> Bool {
    // What cannot be read again is left to its archived value, which refuses it.
    guard baseURL == nil, URL(exactly: absoluteString) != nil else { return false }
    flat.set(place, .url(self))
    return true
  }
  static func make(of source: FlatSource, at place: UInt32) throws -> URL { try source.makeScalar(at: place) }
}

extension UUID: FlatPart {
  func put(into flat: inout FlatValue, at place: UInt32) -> Bool {
    flat.set(place, .uuid(self))
    return true
  }
  static func make(of source: FlatSource, at place: UInt32) throws -> UUID { try source.makeScalar(at: place) }
}

extension Data: FlatPart {
  func put(into flat: inout FlatValue, at place: UInt32) -> Bool {
    flat.set(place, .data(self))
    return true
  }
  static func make(of source: FlatSource, at place: UInt32) throws -> Data { try source.makeScalar(at: place) }
}

extension Optional: FlatPart where Wrapped: FlatPart {
  func put(into flat: inout FlatValue, at place: UInt32) -> Bool {
    guard let self else {
      flat.setNull(place)
      return true
    }
    // An optional in an optional may be refused.
    return !Wrapped.mayBeNull && self.put(into: &flat, at: place)
  }
  static func make(of source: FlatSource, at place: UInt32) throws -> Wrapped? {
    source.part(place).kind == .null ? nil : try Wrapped.make(of: source, at: place)
  }
}

extension Array: FlatPart where Element: FlatPart {
  func put(into flat: inout FlatValue, at place: UInt32) -> Bool {
    flat.begin(.array, at: place)
    for element in self {
      guard element.put(into: &flat, at: flat.addPart(to: place, .array)) else { return false }
    }
    flat.parts[Int(place)].isWhole = true
    return true
  }
  static func make(of source: FlatSource, at place: UInt32) throws -> [Element] {
    let part = source.part(place)
    guard part.kind == .array else { return try source.make(at: place) }
    var elements: [Element] = []
    elements.reserveCapacity(Int(part.count))
    var next = part.first
    do {
      for _ in 0..<part.count {
        elements.append(try Element.make(of: source, at: next))
        next = source.part(next).next
      }
    } catch {
      // The array that archives know of says where the error is, and whether there are others.
      return try source.make(at: place)
    }
    return elements
  }
}
