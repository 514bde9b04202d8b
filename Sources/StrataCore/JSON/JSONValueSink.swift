import Foundation

/// Creates the value that reading the JSON text would return, without writing the text. The value consists of null, booleans, numbers,
/// strings, arrays and objects. Only decimals differ: they stay decimals, although a reader would return most of them as doubles.
struct JSONValueSink: JSONSink {
  private struct Container {
    let isObject: Bool
    /// The key of the member that is being written.
    var key = ""
    var entries: [ArchiveObject.Entry] = []
    var elements: [ArchiveValue] = []
  }

  private(set) var result = ArchiveValue.null
  private var open: [Container] = []
  /// The approximate size of the values in bytes.
  private(set) var count = 0

  mutating func open(isObject: Bool) { open.append(Container(isObject: isObject)) }

  mutating func close(isObject: Bool, isEmpty: Bool) {
    let closed = open.removeLast()
    add(isObject ? .object(ArchiveObject(uniqueEntries: closed.entries)) : .array(closed.elements))
  }

  mutating func separate(isFirst: Bool, inObject: Bool) {}

  mutating func write(key: String) { open[open.count - 1].key = key }

  mutating func write(scalar: ArchiveValue) throws(ArchiveError) {
    switch scalar {
    case .double(let number) where !number.isFinite: throw JSONOutput.notFinite()
    case .decimal(let number) where !number.isFinite: throw JSONOutput.notFinite()
    case .float(let number):
      guard number.isFinite else { throw JSONOutput.notFinite() }
      add(.double(JSONOutput.double(number)))
    case .data, .date, .url, .uuid: add(.string(try JSONOutput.text(of: scalar) ?? ""))
    default: add(scalar)
    }
  }

  private mutating func add(_ value: ArchiveValue) {
    count &+= MemoryLayout<ArchiveValue>.stride + (value.stringValue?.utf8.count ?? 0)
    guard let last = open.indices.last else { return result = value }
    if open[last].isObject {
      open[last].entries.append(ArchiveObject.Entry(key: open[last].key, value: value))
    } else {
      open[last].elements.append(value)
    }
  }
}
