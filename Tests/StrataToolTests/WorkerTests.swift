import Foundation
import StrataCore
import StrataTestSupport
import Testing

@testable import StrataTool

/// Tests of `worker` and `index`, and of the frames that Docs/Worker.md describes.
@Suite("worker")
struct WorkerTests {
  /// An answer, parsed independently of the code that writes it.
  struct Answer: Equatable {
    var number: UInt64
    var outcome: UInt8
    var versions: [Int64]
    var archive: Data
    var typeName: String
    var details: String
  }

  static func little(_ value: UInt64, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }

  static func frame(_ bytes: [UInt8]) -> [UInt8] { little(UInt64(bytes.count), 4) + bytes }

  static func request(_ number: UInt64, _ operation: UInt8, _ parts: [Data], marks: UInt64 = 0) -> [UInt8] {
    frame(
      little(number, 8) + [operation, UInt8(parts.count)] + parts.flatMap { little(UInt64($0.count) | marks, 4) + $0 })
  }

  static func range(_ offset: Int, _ length: Int, _ location: String) -> Data {
    Data(little(UInt64(offset), 8) + little(UInt64(length), 8) + Array(location.utf8))
  }

  static func answers(_ output: Data) throws -> (greeting: ArchiveValue, answers: [Answer]) {
    var rest = Array(output)[...]
    func number(_ count: Int) throws -> UInt64 {
      try #require(rest.count >= count)
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count).enumerated().reduce(0) { $0 | UInt64($1.element) << ($1.offset * 8) }
    }
    func bytes(_ count: UInt64) throws -> Data {
      try #require(rest.count >= Int(count))
      defer { rest = rest.dropFirst(Int(count)) }
      return Data(rest.prefix(Int(count)))
    }
    let greeting = try JSONReader().read(bytes(number(4)))
    var answers: [Answer] = []
    while !rest.isEmpty {
      let length = try number(4)
      let end = rest.count - Int(length)
      let (id, outcome, parts) = (try number(8), try number(1), try number(1))
      #expect(parts == 3)
      let versions = [Int64(bitPattern: try number(8)), Int64(bitPattern: try number(8))]
      let (archive, type, details) = (try bytes(number(4)), try bytes(number(4)), try bytes(number(4)))
      #expect(rest.count == end)
      answers.append(
        Answer(
          number: id, outcome: UInt8(outcome), versions: versions, archive: archive,
          typeName: String(decoding: type, as: UTF8.self), details: String(decoding: details, as: UTF8.self)))
    }
    return (greeting, answers)
  }

  static func ask(_ frames: [UInt8]..., options: [String] = []) throws -> [Answer] {
    let run = Run(["worker"] + options, input: Data(frames.flatMap(\.self)), models: App.models)
    #expect(run.code == 0 && run.error.isEmpty, "\(run.error)")
    return try answers(run.output).answers
  }

  static func old(_ id: Int = 7, _ text: String = "Crash", votes: Int = 3) throws -> Data {
    try ArchiveEncoder().encode(App.OldNote(id: id, text: text, votes: votes))
  }

  static func new(_ id: Int = 7, _ title: String = "Crash", votes: Int = 3) throws -> Data {
    try ArchiveEncoder().encode(App.Note(id: id, title: title, votes: votes))
  }

  @Test("The worker's greeting contains the protocol version, the models and the maximum frame size")
  func greeting() throws {
    let run = Run.app("worker", "--max-frame", "2048")
    let greeting = try Self.answers(run.output).greeting
    #expect(greeting["protocol"] == 1 && greeting["maxFrame"] == 2048 && greeting["models"]?.arrayValue?.count == 3)
    #expect(
      greeting["models"]?.arrayValue?.first?["name"] == "Note" && greeting["models"]?.arrayValue?.first?["version"] == 2
    )
    Run.app("worker", "--protocol", "2").expectFailure(
      code: 64, "--protocol 2: the version is not supported; use version 1")
    Run.app("worker", "--max-frame", "5").expectFailure(code: 64, "--max-frame must be between 1,024 and 2,147,483,647")
  }

  @Test("The worker upgrades an old archive to the app's bytes and reports a current one")
  func upgrade() throws {
    let answers = try Self.ask(Self.request(1, 2, [Self.old()]), Self.request(2, 2, [Self.new()]))
    #expect(
      answers[0]
        == Answer(number: 1, outcome: 3, versions: [1, 2], archive: try Self.new(), typeName: "Note", details: ""))
    #expect(
      answers[1] == Answer(number: 2, outcome: 2, versions: [2, 2], archive: Data(), typeName: "Note", details: ""))
    let list = try ArchiveEncoder().encode([App.OldNote(text: "a"), App.OldNote(text: "b")])
    let answer = try Self.ask(Self.request(9, 2, [list]))[0]
    #expect(answer.outcome == 3 && answer.typeName == "[Note]")
    #expect(try ArchiveDecoder().decode([App.Note].self, from: answer.archive).map(\.title) == ["a", "b"])
    let tag = try Self.ask(Self.request(3, 2, [ArchiveEncoder().encode(App.OldTag(name: "a", colour: "red"))]))[0]
    #expect(tag.outcome == 3 && tag.details == #"{"losses":["no field reads Tag.colour"]}"#)
  }

  @Test("The worker distinguishes damaged, invalid, newer, unsupported and unknown archives")
  func failures() throws {
    let untitled = try ArchiveEncoder().encode(App.OldNote(text: ""))
    let cut = try Self.old().dropLast(4)
    struct Later: DescribedModel {
      var id = 1
      static let fields = Fields(Later.self, name: "Note", version: 9, Field("id", \.id), make: { Later(id: $0) })
    }
    let later = try ArchiveEncoder().encode(Later())
    let cases: [(Data, UInt8, String)] = [
      (cut, 32, #""code":"truncated""#), (untitled, 33, #""code":"invalid""#), (later, 34, #""code":"newerModel""#),
      (Data("plain text".utf8), 34, #""code":"notAnArchive""#), (Data("bplist00".utf8), 34, "convert it to an archive"),
      (try ArchiveEncoder().encode(["a"]), 35, "this program has no model for the type [String]"),
      (Data(), 32, "the archive is empty"),
    ]
    for operation: UInt8 in [1, 2] {
      for (data, outcome, details) in cases where operation == 2 || outcome != 35 {
        let answer = try Self.ask(Self.request(4, operation, [data]))[0]
        // Operation 1 (verify) reports both a broken property list and an empty file as damaged, with other details.
        let isOther = operation == 1 && (data.isEmpty || data == Data("bplist00".utf8))
        #expect(
          isOther ? answer.outcome == 32 : answer.outcome == outcome && answer.details.contains(details), "\(answer)")
        #expect(answer.archive.isEmpty)
      }
    }
    #expect(try Self.ask(Self.request(1, 1, [Self.new()]))[0].outcome == 1)
    #expect(try Self.ask(Self.request(1, 1, [ArchiveEncoder().encode(["a"])]))[0].outcome == 1)
  }

  @Test(
    "The worker and the verify command give the same outcome for damaged archives",
    arguments: [1, 2] as [UInt64])
  func verifyLikeTheCommand(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let scratch = try Scratch()
    let archive = try ArchiveEncoder().encode([App.OldNote(text: "a"), App.OldNote(text: "")])
    let words: [String: UInt8] = ["intact": 1, "damaged": 32, "refused": 33, "unsupported": 34]
    for number in 0..<200 {
      var data = try number.isMultiple(of: 2) ? archive : Self.old()
      let place = Int.random(in: 0..<data.count, using: &random)
      if number.isMultiple(of: 3) {
        data = data.prefix(place)
      } else {
        data[place] ^= UInt8.random(in: 0...255, using: &random)
      }
      let path = try scratch.file("a", data)
      let word = try #require(
        try JSONReader().read(Run.app("verify", path, "--json").output)["files"]?.arrayValue?.first?["outcome"])
      #expect(
        try Self.ask(Self.request(1, 1, [data]))[0].outcome == words[word.stringValue ?? ""],
        "seed \(seed), \(number): \(word)")
    }
  }

  @Test("The worker merges models by their policies and lists conflicts by path")
  func merge() throws {
    let (base, local) = (try Self.new(votes: 3), try Self.new(7, "Mine", votes: 5))
    let answer = try Self.ask(Self.request(1, 4, [local, Self.new(votes: 9), base]))[0]
    #expect(answer.outcome == 5 && answer.typeName == "Note" && answer.details.isEmpty, "\(answer)")
    #expect(
      try ArchiveDecoder().decode(App.Note.self, from: answer.archive) == App.Note(id: 7, title: "Mine", votes: 9))
    let conflict = try Self.ask(Self.request(1, 4, [local, Self.new(7, "Theirs"), base]))[0]
    #expect(conflict.outcome == 6 && conflict.details == #"{"conflicts":["title"]}"#, "\(conflict)")
    #expect(try ArchiveDecoder().decode(App.Note.self, from: conflict.archive).title == "Mine")
    let server = try Self.ask(
      Self.request(1, 4, [local, Self.new(7, "Theirs"), base]), options: ["--policy", "title=serverWins"])[0]
    #expect(try server.outcome == 5 && ArchiveDecoder().decode(App.Note.self, from: server.archive).title == "Theirs")
    let json = try Self.ask(Self.request(1, 4, [local, Data(#"{"id":7,"data":{"title":"New"},"votes":4}"#.utf8)]))[0]
    #expect(try ArchiveDecoder().decode(App.Note.self, from: json.archive).title == "New", "\(json)")
  }

  @Test("The worker converts property lists and JSON documents to archives")
  func convert() throws {
    let list = Data(
      #"<?xml version="1.0"?><plist version="1.0"><dict><key>a</key><integer>1</integer></dict></plist>"#.utf8)
    let answer = try Self.ask(Self.request(1, 3, [list]))[0]
    #expect(answer.outcome == 4)
    #expect(try ArchiveDecoder().decodeValue(from: answer.archive)["a"] == 1)
    let json = Data(#"{"id":3,"data":{"title":"A"},"votes":1,"mood":"wild"}"#.utf8)
    let note = try Self.ask(Self.request(1, 3, [json, Data("Note".utf8)]))[0]
    #expect(note.outcome == 4 && note.versions == [2, 2])
    #expect(
      try ArchiveDecoder().decode(App.Note.self, from: note.archive)
        == App.Note(id: 3, title: "A", votes: 1, mood: .wild))
    let wrong = try Self.ask(
      Self.request(1, 3, [json]), Self.request(2, 3, [json, Data("None".utf8)]), Self.request(3, 3, [Self.old()]))
    #expect(wrong.map(\.outcome) == [37, 32, 34], "\(wrong)")
  }

  @Test("The worker answers a malformed or oversized request and reads the next one")
  func malformed() throws {
    let good = Self.request(5, 2, [try Self.old()])
    let large = Self.frame(Self.little(8, 8) + [2, 1] + Self.little(5000, 4) + [UInt8](repeating: 1, count: 5000))
    let frames: [([UInt8], UInt64, UInt8)] = [
      (Self.frame([]), .max, 37), (Self.frame([1, 2, 3]), .max, 37), (Self.frame(Self.little(1, 8)), 1, 37),
      (Self.frame(Self.little(2, 8) + [9, 1, 0, 0, 0, 0]), 2, 37), (Self.frame(Self.little(3, 8) + [2, 0]), 3, 37),
      (Self.frame(Self.little(4, 8) + [2, 1] + Self.little(9, 4) + [1]), 4, 37),
      (Self.frame(Self.little(6, 8) + [2, 1] + Self.little(0, 4) + [1]), 6, 37),
      (Self.request(7, 2, [Data([1, 2])], marks: 1 << 31), 7, 37), (large, 8, 34),
    ]
    for (frame, number, outcome) in frames {
      let answers = try Self.ask(good, frame, good, options: ["--max-frame", "2000"])
      #expect(answers.map(\.outcome) == [3, outcome, 3] && answers[1].number == number, "\(answers)")
      #expect(answers[0] == answers[2])
    }
    let huge = Run(["worker"], input: Data(Self.little(0xFFFF_FFFF, 4) + Self.little(1, 8)), models: App.models)
    #expect(huge.code == 1 && huge.error.contains("standard input ended inside a frame"))
    let cut = Run(["worker"], input: Data(good.dropLast()), models: App.models)
    #expect(cut.code == 1 && cut.error.contains("standard input ended inside a frame"))
  }

  @Test("The worker reports a response that exceeds the frame size limit")
  func largeAnswer() throws {
    let text = (0..<4000).map { "\($0 &* 2_654_435_761)" }.joined()
    let archive = try ArchiveEncoder().encode(App.OldNote(text: text))
    let limit = archive.count + 20
    let answer = try Self.ask(Self.request(1, 2, [archive]), options: ["--max-frame", "\(limit)"])[0]
    #expect(answer.outcome == 34 && answer.details.contains("limitExceeded") && answer.versions == [1, 2], "\(answer)")
  }

  @Test("The worker gives the same responses however its input is split", arguments: [1, 2, 3, 7, 64])
  func pieces(size: Int) throws {
    let requests = Self.request(1, 2, [try Self.old()]) + Self.frame([1]) + Self.request(2, 1, [try Self.new()])
    let whole = Run(["worker"], input: Data(requests), models: App.models).output
    var rest = requests[...]
    var output = Data()
    var console = Console(read: { Data() }, write: { output.append($0) }, writeError: { _ in })
    console.models = ToolModels(App.models)
    console.readSome = {
      defer { rest = rest.dropFirst(size) }
      return Data(rest.prefix(size))
    }
    #expect(Tool.run(["worker"], on: console) == 0)
    #expect(output == whole)
  }

  // MARK: Streams and ranges

  private func stream(_ scratch: Scratch, _ count: Int) throws -> String {
    let path = scratch.path("notes.strata")
    var writer = try ArchiveStreamWriter<App.OldNote>(creating: URL(fileURLWithPath: path))
    for id in 0..<count { try writer.append(App.OldNote(id: id, text: "Note \(id)", votes: id)) }
    try writer.finish()
    return path
  }

  @Test("index lists the members of a stream, and the worker processes each one by its byte range")
  func members() throws {
    let scratch = try Scratch()
    let path = try stream(scratch, 30_000)
    let run = Run.app("index", path)
    #expect(run.code == 0 && run.text.isEmpty && run.error.isEmpty, "\(run.error)")
    let lines = String(decoding: try scratch.data("notes.strata.index"), as: UTF8.self).split(separator: "\n").map {
      $0.split(separator: "\t").map(String.init)
    }
    let size = try scratch.data("notes.strata").count
    #expect(lines[0] == ["strata-index", "1", "Note", "1", "\(size)"])
    let members = lines.dropFirst().map { $0.compactMap { Int($0) } }
    #expect(members.count > 1 && members.reduce(0) { $0 + $1[2] } == 30_000)
    var titles: [String] = []
    for member in members {
      let range = Self.range(member[0], member[1], path)
      let answers = try Self.ask(
        Self.request(1, 2, [range], marks: 1 << 31), Self.request(2, 1, [range], marks: 1 << 31))
      #expect(answers.map(\.outcome) == [3, 1] && answers.allSatisfy { $0.typeName == "[Note]" }, "\(answers)")
      titles += try ArchiveDecoder().decode([App.Note].self, from: answers[0].archive).map(\.title)
    }
    #expect(titles == (0..<30_000).map { "Note \($0)" })
    Run.app("index", try scratch.file("one.strata", Self.old())).expectFailure(
      "the archive cannot be indexed because it contains a single value, not a stream")
    Run.app("index", try scratch.file("cut.strata", scratch.data("notes.strata").dropLast(30))).expectFailure(
      "cut.strata")
  }

  @Test("The worker and the upgrade command write the same bytes for a whole stream")
  func wholeStream() throws {
    let scratch = try Scratch()
    let path = try stream(scratch, 1500)
    #expect(Run.app("upgrade", path, "-o", scratch.path("new.strata")).code == 0)
    let upgraded = try scratch.data("new.strata")
    for request in [
      Self.request(1, 2, [try scratch.data("notes.strata")]),
      Self.request(1, 2, [Self.range(0, 0, path)], marks: 1 << 31),
    ] {
      let answer = try Self.ask(request)[0]
      #expect(answer.outcome == 3 && answer.archive == upgraded)
    }
    #expect(try Self.ask(Self.request(1, 2, [upgraded]))[0].outcome == 2)
    // A stream whose end is missing counts as truncated, although its first member alone is intact.
    #expect(try Self.ask(Self.request(1, 1, [upgraded.dropLast(30)]))[0].outcome == 32)
  }

  @Test("The worker reports an unreadable range with its location")
  func unreadableRange() throws {
    let scratch = try Scratch()
    let path = try scratch.file("a.strata", Self.old())
    for (range, reason) in [
      (Self.range(0, 0, scratch.path("none")), "none"),
      (Self.range(10, 100_000, path), "of the 100000 bytes requested from offset 10"),
      (Self.range(0, 1 << 40, path), "raise the limit with --max-frame"),
      (Self.range(0, 9, "http://127.0.0.1:9/a"), "http://127.0.0.1:9/a"),
    ] {
      let answer = try Self.ask(Self.request(1, 1, [range], marks: 1 << 31))[0]
      #expect(answer.outcome == 36 && answer.details.contains(reason), "\(answer)")
    }
    #expect(
      try Self.ask(Self.request(1, 5, [Self.range(0, Self.old().count - 9, path)], marks: 1 << 31))[0].outcome == 7)
    let stamp = try Self.ask(Self.request(1, 5, [Self.old()]))[0]
    #expect(
      stamp.versions == [1, 2] && stamp.typeName == "Note" && stamp.details.contains(#""kind":"single""#), "\(stamp)")
  }

  /// Runs the worker on a thread of its own, because a worker blocks its thread while it downloads.
  private static func ask(_ location: URL, _ offset: Int, _ length: Int, options: [String] = []) async throws -> Answer
  {
    let range = range(offset, length, location.absoluteString)
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result { try ask(request(1, 1, [range], marks: 1 << 31), options: options)[0] })
      }
    }
  }

  @Test("The worker reads a range of a URL with one range request and rejects other responses")
  func addresses() async throws {
    let archive = try Self.old()
    let file = Data([1, 2, 3]) + archive + Data([4, 5])
    let sent = Mutex(0)
    let server = try RawServer { connection in
      guard let head = connection.head() else { return }
      func respond(_ status: String, _ body: Data, _ headers: String = "", length: Int? = nil) {
        connection.send(
          "HTTP/1.1 \(status)\r\nContent-Length: \(length ?? body.count)\r\n\(headers)Connection: close\r\n\r\n")
        connection.send(body)
      }
      let isRight = head.contains("bytes=3-\(archive.count + 2)\r\n")
      let content = "Content-Range: bytes 3-\(archive.count + 2)/\(file.count)\r\n"
      switch head.split(separator: " ")[1] {
      case "/range" where isRight: respond("206 Partial Content", archive, content)
      case "/moved": respond("302 Found", Data(), "Location: /range\r\n")
      case "/whole": respond("200 OK", archive)
      case "/ignored": respond("200 OK", archive)
      case "/other": respond("206 Partial Content", archive, "Content-Range: bytes 0-\(archive.count - 1)/900\r\n")
      case "/short": respond("206 Partial Content", archive.dropLast(), content)
      case "/cut": respond("206 Partial Content", archive.dropLast(), content, length: archive.count)
      case "/endless":
        connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        while sent.withLock({ $0 }) < 1 << 30, connection.send(Data(count: 1 << 16)) {
          sent.withLock { $0 += 1 << 16 }
          // Sends slowly, because on a busy machine the worker takes longer to close the connection.
          Thread.sleep(forTimeInterval: 0.001)
        }
      default: respond("404 Not Found", Data())
      }
    }
    defer { server.stop() }
    for path in ["/range", "/moved"] {
      let answer = try await Self.ask(server.url(path), 3, archive.count)
      #expect(answer.outcome == 1 && answer.typeName == "Note", "\(path): \(answer)")
    }
    #expect(try await Self.ask(server.url("/whole"), 0, 0).outcome == 1)
    for (path, reason) in [
      ("/ignored", "does not support range requests"), ("/endless", "does not support range requests"),
      ("/other", "did not send the requested range"), ("/short", "of the \(archive.count) bytes"), ("/cut", "/cut"),
      ("/none", "404"),
    ] {
      let answer = try await Self.ask(server.url(path), 3, archive.count)
      #expect(answer.outcome == 36 && answer.details.contains(reason), "\(path): \(answer)")
    }
    let long = try await Self.ask(server.url("/endless"), 0, 0, options: ["--max-frame", "1024"])
    #expect(long.outcome == 36 && long.details.contains("--max-frame"), "\(long)")
    #expect(sent.withLock { $0 } < 1 << 30)
  }

  @Test("The worker accepts a request of the maximum frame size and rejects one that is a byte longer")
  func longestFrame() throws {
    let head = Self.request(1, 1, [Data()]).count - 4
    for (size, outcome, code) in [(4_096, 32, "damaged"), (4_097, 34, "limitExceeded")] as [(Int, UInt8, String)] {
      let archive = try Self.old()
      let request = Self.request(1, 1, [archive + Data(count: size - head - archive.count)])
      #expect(request.count == 4 + size)
      let answers = try Self.ask(request, Self.request(2, 1, [archive]), options: ["--max-frame", "4096"])
      #expect(answers.map(\.outcome) == [outcome, 1] && answers[0].details.contains(code), "\(answers)")
    }
  }
}
