internal import Foundation
internal import StrataCore

/// Converts the files of a folder, several at a time.
struct FolderConversion: Sendable {
  let folders: FolderPair
  let conversion: LegacyConversion
  /// Whether this is a dry run, which writes nothing.
  let isDry: Bool
  /// The options of the conversion, as the journal stores them.
  private let text: String

  init(folders: FolderPair, conversion: LegacyConversion, isDry: Bool) throws {
    self.folders = folders
    self.conversion = conversion
    self.isDry = isDry
    text = try conversion.text
  }

  /// The state shared by all threads.
  private final class Work: Sendable {
    struct State: Sendable {
      var next = 0
      var results: [(place: Int, result: ConversionResult)] = []
      var isStopped = false
    }

    let state = Mutex(State())
    let arrived = DispatchSemaphore(value: 0)
    let running = DispatchGroup()
  }

  /// Converts the files and returns their outcomes in the order of the files.
  func run(jobs: Int, _ console: Console) throws -> [ConversionResult] {
    let items = try FileTree(folders.input).items
    if !isDry {
      try ToolError.at(folders.output) {
        try FileManager.default.createDirectory(atPath: folders.output, withIntermediateDirectories: true)
      }
    }
    let journal = try ConversionJournal(folder: folders.output, isDry: isDry)
    let entries = journal.entries
    let work = Work()
    let interceptor = SystemCall.interceptor
    for _ in 0..<min(jobs, items.count) {
      work.running.enter()
      let thread = Thread {
        func run() {
          while let place = Self.nextIndex(work, items.count) {
            let result = convert(items[place].path, items[place].item, entries[items[place].path])
            work.state.withLock { $0.results.append((place, result)) }
            work.arrived.signal()
          }
        }
        // A new thread does not inherit task-local values, so a test's interceptor is set again. `withValue` is called
        // only if there is an interceptor. In an optimized build with Swift 6.3, calling `withValue` with `nil` crashes
        // on a thread that does not belong to a task.
        if let interceptor { SystemCall.$interceptor.withValue(interceptor) { run() } } else { run() }
        work.running.leave()
      }
      // Values may be deeply nested, and threads have small stacks on some systems.
      thread.stackSize = 16 << 20
      thread.start()
    }
    defer {
      work.state.withLock { $0.isStopped = true }
      work.running.wait()
    }
    var results = [ConversionResult?](repeating: nil, count: items.count)
    for count in items.indices {
      work.arrived.wait()
      guard let (place, result) = work.state.withLock({ $0.results.popLast() }) else { continue }
      results[place] = result
      if let entry = result.entry { try journal.add(entry) }
      console.progress("\(count + 1)/\(items.count) \(result.file.onOneLine)")
    }
    console.clearProgress()
    return results.compactMap { $0 }
  }

  private static func nextIndex(_ work: Work, _ count: Int) -> Int? {
    work.state.withLock { state in
      guard !state.isStopped, state.next < count else { return nil }
      state.next += 1
      return state.next - 1
    }
  }

  // MARK: One file

  private func convert(
    _ file: String, _ item: FileTree.Item, _ entry: ConversionJournal.Entry?
  ) -> ConversionResult {
    switch item {
    case .other(let kind): return .ignored(file, kind)
    case .unreadable(let error): return .failed(file, error, path: folders.input + "/" + file)
    case .file(let status):
      do { return try convert(file, status, entry) } catch {
        return .failed(file, error, path: folders.input + "/" + file)
      }
    }
  }

  private func convert(
    _ file: String, _ status: FileStatus, _ entry: ConversionJournal.Entry?
  ) throws -> ConversionResult {
    let archive = FolderPair.archiveName(of: file)
    let output = folders.output + "/" + archive
    let existing = try FileStatus(ofPath: output)
    let made = try ExistingArchive(output, existing, entry)
    if made == .intact, let entry, entry.size == status.size, entry.modified == status.modified,
      entry.conversion == text
    {
      return ConversionResult(file: file, outcome: .done, output: archive)
    }
    let input = try InputFile(path: folders.input + "/" + file)
    guard case .propertyList(let isBinary) = input.format else {
      return .ignored(file, try Self.kind(of: input))
    }
    let data = try conversion.archive(input.legacyDocument(isBinary: isBinary, limits: conversion.limits))
    if let reason = made.reasonToKeep {
      // A symbolic link at the output path is an error even if its target has the same content, because writing through
      // the link would replace a different file.
      guard existing?.isRegular ?? true,
        try AtomicFile.read(URL(fileURLWithPath: output), limit: .max) == Array(data)
      else { throw ArchiveError(.fileSystem, "\(archive.onOneLine): \(reason)") }
    }
    if !isDry {
      try folders.makeFolder(for: archive)
      try AtomicFile.write(data, to: URL(fileURLWithPath: output))
    }
    return ConversionResult(
      file: file, outcome: .converted, output: archive,
      entry: .init(
        file: file, size: status.size, modified: status.modified, outputSize: data.count,
        checksum: Checksum.crc32(of: data.bytes), conversion: text))
  }

  private static func kind(of input: InputFile) throws -> String {
    switch input.format {
    case .archive: try input.archiveName
    case .propertyList: "a property list"
    case .other(let found): found
    }
  }
}
