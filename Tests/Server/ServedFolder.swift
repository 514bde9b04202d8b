internal import Foundation
internal import StrataCore

/// The files of a folder. Each file contains the records of one list.
struct ServedFolder: ResourceStorage {
  private struct File {
    let path: String
    /// Whether the file contains an object with a single member, whose key is the list's name and whose value is the array of records.
    let isWrapped: Bool
    let isPretty: Bool
    var status: FileStatus
  }

  private var files: [ExactKey: File] = [:]
  private(set) var lists: [ResourceList] = []

  /// Reads each `NAME.json` in the folder, in the byte order of the names. Names with a leading dot are ignored.
  ///
  /// - Throws: ``ServeError`` if the folder or such a file does not exist, or if a file isn't a list of records.
  init(_ folder: String) throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
      throw ServeError("\(folder): is no folder; one with files NAME.json, of a list each, is needed")
    }
    let root = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: root) } catch {
      throw ServeError("cannot read the folder “\(folder)”: " + ServeError.reason(of: error))
    }
    let found = names.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }
    for name in found.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
      try read(root + "/" + name, as: String(name.dropLast(".json".count)))
    }
    guard !lists.isEmpty else {
      throw ServeError("\(folder): no file NAME.json is in this folder; one for each list is needed")
    }
  }

  private mutating func read(_ path: String, as name: String) throws {
    let (data, status) = try ServeError.at(path) {
      let url = URL(fileURLWithPath: path)
      // The status is read before the content, so that a write detects a concurrent change.
      let status = try OpenFile(reading: url).status()
      return (Data(try AtomicFile.read(url)), status)
    }
    guard !data.isEmpty else { throw ServeError("\(path): the file is empty; a JSON array of objects is expected") }
    let value = try ServeError.at(path) { try JSONReader.refusingDuplicates().read(data) }
    let records: [ArchiveValue]
    var isWrapped = false
    if case .array(let elements) = value {
      records = elements
    } else if case .object(let object) = value, object.count == 1, case .array(let elements)? = object[name] {
      (records, isWrapped) = (elements, true)
    } else {
      throw ServeError(
        "\(path): the document is \(value.kind.withArticle); an array of objects is expected, or an object with such an array"
          + " under the name of the file, and nothing else")
    }
    let modified = Date(timeIntervalSince1970: Double(status.modified) / 1e9)
    do { lists.append(try ResourceList(name: name, values: records, modified: modified)) } catch let error as ServeError
    {
      throw ServeError("\(path): \(error.message)")
    }
    files[ExactKey(name)] = File(
      path: path, isWrapped: isWrapped, isPretty: data.dropLast().contains(0x0A), status: status)
  }

  mutating func write(_ list: ResourceList) throws {
    guard var file = files[ExactKey(list.name)] else { return }
    let url = URL(fileURLWithPath: file.path)
    guard try OpenFile(reading: url).status().isSameContent(as: file.status) else {
      throw ServeError("another program changed the file of the list, which is left as it is; start the server again")
    }
    let value: ArchiveValue =
      file.isWrapped ? .object(ArchiveObject([.init(key: list.name, value: list.json)])) : list.json
    let data = try JSONWriter(isPretty: file.isPretty).write(value) + Data("\n".utf8)
    try AtomicFile.write(data, to: url)
    file.status = try OpenFile(reading: url).status()
    files[ExactKey(list.name)] = file
  }
}
