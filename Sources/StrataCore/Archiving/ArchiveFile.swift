public import Foundation

/// A file that contains one value. Newer versions of the program can still read it.
///
///     let file = ArchiveFile<Library>(url)
///     var library = try file.load()?.value ?? Library()
///     try file.save(library)
///
/// ``load()`` upgrades a value that an older version of the program wrote. ``save(_:)`` replaces the file atomically. Backup files can
/// exist next to the file:
///
/// - `NAME.previous`: the last file that an older version wrote, copied before the current version first replaced it. A file with content
///   that the program does not know, such as an unknown enum case, is copied in the same way.
/// - `NAME.damaged`: a damaged file, copied before it was replaced. If this backup exists, later damaged files are copied to
///   `NAME.damaged-2` and so on.
///
/// Several tasks can use one `ArchiveFile` concurrently. ``save(_:)`` throws an error if another writer has replaced the file since this
/// instance loaded or saved it. This check is not a lock: if two processes save at the same moment, the last save wins.
public final class ArchiveFile<Value: Archivable & SendableMetatype>: Sendable {
  /// A loaded value, its origin, and the decoding report.
  public struct Loaded {
    /// The value, upgraded to the current version.
    public let value: Value
    /// The file that the value was read from.
    public let origin: Origin
    /// The upgrades that were applied, and the values that they discarded.
    public let report: DecodingReport
  }

  /// The file that a value was read from: the file itself, or its backup.
  public enum Origin: Sendable {
    /// The file at ``ArchiveFile/url``.
    case file
    /// The backup at ``ArchiveFile/previousURL``, which an older version of the program wrote. The backup lacks everything that was saved
    /// after the program was updated. If ``load()`` used the backup because the file itself is damaged, `damage` is the error that reading
    /// the file threw.
    case previous(damage: ArchiveError?)
  }

  /// The URL of the file.
  public let url: URL
  /// The URL of the backup of a file that an older version of the program wrote, or that has content the program does not know.
  /// ``save(_:)`` makes the backup before it replaces the file.
  public let previousURL: URL
  /// The URL of the backup of a damaged file. ``save(_:)`` makes the backup before it replaces the file. If a file already exists at this
  /// URL, the backup gets a different name.
  public let damagedURL: URL
  private let encoder: ArchiveEncoder
  private let decoder: ArchiveDecoder
  private let known = Mutex<Known>(.nothing)

  /// The state of the file when this instance last loaded or saved it.
  private enum Known {
    /// This instance has neither loaded nor saved the file, or the last load failed.
    case nothing
    /// The last load found no file.
    case absent
    /// The file existed after the last load or save, with this status.
    case present(FileStatus, losesContent: Bool)
  }

  /// Creates an instance for a file, which does not need to exist yet.
  public init(
    _ url: URL, encoder: ArchiveEncoder = ArchiveEncoder(), decoder: ArchiveDecoder = ArchiveDecoder()
  ) {
    self.url = url
    previousURL = url.appendingPathExtension("previous")
    damagedURL = url.appendingPathExtension("damaged")
    self.encoder = encoder
    self.decoder = decoder
  }

  /// Returns the value in the file, upgraded if an older version of the program wrote it; `nil` if there is no file.
  ///
  /// If the file is damaged, returns the value in ``previousURL``. In that case, ``Loaded/origin`` contains the error.
  ///
  /// - Throws: the errors that ``ArchiveDecoder`` throws for a file. If both files are damaged, the error describes both. If the error is
  ///   `newerModel`, ``loadPrevious()`` returns the value from before the program was updated.
  public func load() throws -> Loaded? {
    try known.withLock { known in
      known = .nothing
      do {
        guard let (loaded, found) = try open() else {
          known = .absent
          return nil
        }
        known = found
        return loaded
      } catch let damage as ArchiveError where damage.isDamage {
        let previous: Loaded?
        do { previous = try read(previousURL, .previous(damage: damage)) } catch let other as ArchiveError
          where other.isDamage
        {
          throw damage.changed {
            $0.reason += "; the backup “\(previousURL.lastPathComponent)” is also damaged (\(other.reason))"
          }
        }
        guard let previous else { throw damage }
        return previous
      }
    }
  }

  /// Returns the value in ``previousURL``, the backup of the last file that an older version of the program wrote; `nil` if there is no
  /// backup.
  ///
  /// - Throws: the same errors as ``load()``.
  public func loadPrevious() throws -> Loaded? { try read(previousURL, .previous(damage: nil)) }

  /// Replaces the content of the file.
  ///
  /// A file that an older version wrote is first copied to ``previousURL``. The same applies to a file of the current version whose fields
  /// differ from the fields of the program's models, and to a file with enum cases that the program does not know. A damaged file is first
  /// copied to ``damagedURL`` or, if that file exists, to the first of `NAME.damaged-2` to `NAME.damaged-9` that does not exist. If all of
  /// them exist, `NAME.damaged-9` is replaced. To detect these cases, the existing file is read first, unless this instance has already
  /// loaded or saved it.
  ///
  /// - Throws: any error that ``ArchiveEncoder`` throws, and ``ArchiveError`` with the code `newerModel` if a newer program wrote the file,
  ///   `fileSystem`, or `fileInUse`. The code is `fileInUse` if another writer has replaced the file since this instance loaded or saved
  ///   it, or has created the file since ``load()`` returned `nil`. The file is unchanged after an error, with one exception: if only
  ///   flushing the folder to the disk failed, the file has been replaced.
  public func save(_ value: Value) throws {
    try known.withLock { known in
      let data = try encoder.encode(value)
      switch (known, try Self.exists(url)) {
      case (.present(let status, let losesContent), true):
        guard try OpenFile(reading: url).status().isSameContent(as: status) else {
          throw inUse("the file “\(url.path)” was replaced by another writer; load it again and merge your changes")
        }
        if losesContent { try copy(to: previousURL) }
      case (.absent, true):
        throw inUse(
          "the file “\(url.path)” was not saved because another writer has created it; load the file and merge your changes"
        )
      case (.nothing, true):
        do {
          if case .present(_, losesContent: true)? = try open()?.1 { try copy(to: previousURL) }
        } catch let damage as ArchiveError where damage.isDamage { try copy(to: freeDamagedURL()) }
      case (_, false): break
      }
      known = .present(try AtomicFile.write(data, to: url), losesContent: false)
    }
  }

  private func inUse(_ reason: String) -> ArchiveError {
    ArchiveError(.fileInUse, reason)
  }

  private func open() throws -> (Loaded, Known)? {
    guard try Self.exists(url) else { return nil }
    // The status is read before the content. If another writer replaces the file in between, the next save detects the replacement.
    let status = try OpenFile(reading: url).status()
    guard let loaded = try read(url, .file) else { return nil }
    let report = loaded.report
    let losesContent =
      !report.upgrades.isEmpty || !report.typesWithOtherFields.isEmpty || !report.typesWithUnknownCases.isEmpty
    return (loaded, .present(status, losesContent: losesContent))
  }

  private func read(_ file: URL, _ origin: Origin) throws -> Loaded? {
    guard try Self.exists(file) else { return nil }
    var report = DecodingReport()
    let value = try decoder.decode(Value.self, from: file, report: &report)
    return Loaded(value: value, origin: origin, report: report)
  }

  /// The first of ``damagedURL``, `NAME.damaged-2`, …, `NAME.damaged-9` that does not exist, or the last one if all exist. This way, if the
  /// file is damaged again, the copy of the first damaged file is not replaced.
  private func freeDamagedURL() throws -> URL {
    let names = [damagedURL] + (2...9).map { url.appendingPathExtension("damaged-\($0)") }
    return try names.dropLast().first { try !Self.exists($0) } ?? names[names.count - 1]
  }

  private func copy(to other: URL) throws {
    let bytes = try AtomicFile.read(url)
    try AtomicFile.write(bytes.bytes, to: other)
  }

  private static func exists(_ url: URL) throws -> Bool { try FileStatus(ofPath: OpenFile.path(of: url)) != nil }
}

extension ArchiveFile.Loaded: Sendable where Value: Sendable {}
