public import Foundation

/// A file that holds one value, over many versions of the program.
///
///     let file = ArchiveFile<Library>(url)
///     var library = try file.load()?.value ?? Library()
///     try file.save(library)
///
/// ``load()`` upgrades what an older version wrote. ``save(_:)`` replaces the file as a whole, or not at all. Two files may lie beside it:
///
/// - `NAME.previous`: the last file of an older version, from before the first save of the new one.
/// - `NAME.damaged`: the last file that could not be read, from before it was replaced.
///
/// Several tasks can use one `ArchiveFile` at once. Another writer's save is noticed by the next ``save(_:)``. That is no lock: if two
/// processes save at the same moment, the last one wins.
public final class ArchiveFile<Value: Archivable & SendableMetatype>: Sendable {
  /// A value and how it was found.
  public struct Loaded {
    /// The value, of today's version.
    public let value: Value
    /// The file that the value was read from.
    public let origin: Origin
    /// The upgrades, and what they left out.
    public let report: DecodingReport
  }

  /// The file that a value was read from.
  public enum Origin: Sendable {
    /// The file itself.
    case file
    /// The file of the older version. Everything that was saved since the program was updated is missing. If ``load()`` returned it, `damage`
    /// is the error of the file itself.
    case previous(damage: ArchiveError?)
  }

  /// Where the file is.
  public let url: URL
  /// The file of the older version, which ``save(_:)`` keeps.
  public let previousURL: URL
  /// The last damaged file, which ``save(_:)`` keeps.
  public let damagedURL: URL
  private let encoder: ArchiveEncoder
  private let decoder: ArchiveDecoder
  /// The file as it was last loaded or saved here; `nil` before, and after a load that could not read it.
  private let known = Mutex<Known?>(nil)

  private struct Known {
    let status: FileStatus
    let isOfOlderVersion: Bool
  }

  /// A file that need not be there yet.
  public init(
    _ url: URL, encoder: ArchiveEncoder = ArchiveEncoder(), decoder: ArchiveDecoder = ArchiveDecoder()
  ) {
    self.url = url
    previousURL = url.appendingPathExtension("previous")
    damagedURL = url.appendingPathExtension("damaged")
    self.encoder = encoder
    self.decoder = decoder
  }

  /// The value in the file, upgraded if an older version wrote it; `nil` if there is no file.
  ///
  /// If the file is damaged, this returns the value of ``previousURL``, and ``Loaded/origin`` has the error.
  ///
  /// - Throws: ``ArchiveError`` as ``ArchiveDecoder`` does when it reads a file. After `newerModel`, ``loadPrevious()`` has the state
  ///   from before the program was updated.
  public func load() throws -> Loaded? {
    try known.withLock { known in
      known = nil
      do {
        guard let (loaded, found) = try open() else { return nil }
        known = found
        return loaded
      } catch let damage as ArchiveError where damage.isDamage {
        guard let previous = try read(previousURL, .previous(damage: damage)) else { throw damage }
        return previous
      }
    }
  }

  /// The value in the file of the older version; `nil` if there is no such file.
  ///
  /// - Throws: as ``load()``.
  public func loadPrevious() throws -> Loaded? { try read(previousURL, .previous(damage: nil)) }

  /// Replaces the file.
  ///
  /// Before that, a file of an older version is copied to ``previousURL``, and a damaged one to ``damagedURL``. A file that was neither
  /// loaded nor saved here is read first, to find out.
  ///
  /// - Throws: ``ArchiveError``: the errors of encoding; `fileInUse` if another writer has replaced the file since it was loaded or saved
  ///   here; `newerModel` if a newer program wrote it; `fileSystem`. The file is as it was before, with one exception: if only flushing
  ///   the folder to the disk failed, the new file is in place.
  public func save(_ value: Value) throws {
    try known.withLock { known in
      let data = try encoder.encode(value)
      switch (known, try Self.isThere(url)) {
      case (let known?, true):
        guard try OpenFile(reading: url).status().isSameContent(as: known.status) else {
          throw ArchiveError(
            .fileInUse, "another writer has replaced the file “\(url.path)” since it was read; load it again, and merge"
          )
        }
        if known.isOfOlderVersion { try copy(to: previousURL) }
      case (nil, true):
        do {
          if try open()?.1.isOfOlderVersion ?? false { try copy(to: previousURL) }
        } catch let damage as ArchiveError where damage.isDamage { try copy(to: damagedURL) }
      case (_, false): break
      }
      known = Known(status: try AtomicFile.write(data, to: url), isOfOlderVersion: false)
    }
  }

  private func open() throws -> (Loaded, Known)? {
    guard try Self.isThere(url) else { return nil }
    // Before the content, so that a replacement in between is noticed by the next save.
    let status = try OpenFile(reading: url).status()
    guard let loaded = try read(url, .file) else { return nil }
    let isOlder = !loaded.report.upgrades.isEmpty || !loaded.report.typesWithOtherFields.isEmpty
    return (loaded, Known(status: status, isOfOlderVersion: isOlder))
  }

  private func read(_ file: URL, _ origin: Origin) throws -> Loaded? {
    guard try Self.isThere(file) else { return nil }
    var report = DecodingReport()
    let value = try decoder.decode(Value.self, from: file, report: &report)
    return Loaded(value: value, origin: origin, report: report)
  }

  private func copy(to other: URL) throws {
    let bytes = try AtomicFile.read(url)
    try AtomicFile.write(bytes.bytes, to: other)
  }

  private static func isThere(_ url: URL) throws -> Bool { try FileStatus(ofPath: OpenFile.path(of: url)) != nil }
}

extension ArchiveFile.Loaded: Sendable where Value: Sendable {}
