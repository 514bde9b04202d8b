import Foundation
import Strata
import StrataCore
import Testing

/// Two programs declare the same models. The enums of the newer program have one more case.
private enum Newer {
  enum Status: String, Archivable { case open, closed, archived }
  enum Color: String, Codable { case red, blue, green }

  @Model(version: 1, name: "Shape")
  enum Shape: Equatable {
    case circle(radius: Double)
    case square(side: Double)
  }

  @Model(version: 1, name: "Ticket")
  struct Ticket: Equatable {
    var status = Status.open
    var history: [Status] = []
    var shape: Shape?
    var color = Color.red
  }
}

private enum Older {
  enum Status: String, Archivable { case open, closed }
  enum Color: String, Codable { case red, blue }

  @Model(version: 1, name: "Shape")
  enum Shape: Equatable, UnknownCaseRepresentable {
    case circle(radius: Double)
    case unknown
    static let unknownCase = Shape.unknown
  }

  @Model(version: 1, name: "Ticket")
  struct Ticket: Equatable {
    @Field(unknown: .useDefault) var status = Status.open
    @Field(unknown: .useDefault) var history: [Status] = []
    var shape: Shape?
    @Field(unknown: .useDefault) var color = Color.red
  }

  @Model(version: 1, name: "Ticket")
  struct Strict {
    var status = Status.open
    var history: [Status] = []
    var shape: StrictShape?
    var color = Color.red
  }

  @Model(version: 1, name: "Shape")
  enum StrictShape: Equatable { case circle(radius: Double) }
}

@Suite("Unknown enum cases in reports")
struct UnknownCaseReportTests {
  @Test(
    "The report lists each enum whose unknown case a field or the enum replaces, or a list skips",
    arguments: [
      (Newer.Ticket(), Older.Ticket(), []),
      (Newer.Ticket(status: .archived), Older.Ticket(), ["Status"]),
      (Newer.Ticket(history: [.closed, .archived]), Older.Ticket(history: [.closed]), ["Status"]),
      (Newer.Ticket(shape: .square(side: 1)), Older.Ticket(shape: .unknown), ["Shape"]),
      (Newer.Ticket(color: .green), Older.Ticket(), ["Color"]),
      (
        Newer.Ticket(status: .archived, shape: .square(side: 1), color: .green), Older.Ticket(shape: .unknown),
        ["Status", "Shape", "Color"]
      ),
    ])
  private func replaced(written: Newer.Ticket, read: Older.Ticket, types: [String]) throws {
    var report = DecodingReport()
    let data = try ArchiveEncoder().encode(written)
    #expect(try ArchiveDecoder().decode(Older.Ticket.self, from: data, report: &report) == read)
    #expect(report.typesWithUnknownCases == types)
    #expect(report.isEmpty == types.isEmpty)
    for type in types { #expect(report.description.contains("the archive has an unknown case of \(type)")) }
  }

  @Test("An archive file is kept before a save replaces unknown cases")
  func archiveFile() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("strata-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    // Uses `try?`, because a folder that remains is harmless.
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = folder.appendingPathComponent("tickets.strata")
    try ArchiveFile<Newer.Ticket>(url).save(Newer.Ticket(status: .archived))
    let written = try Data(contentsOf: url)
    let file = ArchiveFile<Older.Ticket>(url)
    try file.save(try #require(try file.load()).value)
    #expect(try Data(contentsOf: file.previousURL) == written)
    #expect(try ArchiveFile<Newer.Ticket>(url).load()?.value == Newer.Ticket())
  }

  @Test("The error of an unknown case with associated values names the case")
  func errors() throws {
    let data = try ArchiveEncoder().encode(Newer.Ticket(shape: .square(side: 1)))
    let error = #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode(Older.Strict.self, from: data) }
    #expect(error?.code == .unknownCase)
    #expect(error?.reason.hasPrefix("the enum Shape has no case square; add the case") == true)
  }
}
