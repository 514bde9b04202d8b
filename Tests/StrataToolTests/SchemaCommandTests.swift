import Foundation
import StrataCore
import StrataTestSupport
import StrataTesting
import Testing

struct SchemaCommandTests {
  let scratch: Scratch
  let folder: String

  init() throws {
    scratch = try Scratch()
    folder = scratch.path("repo/Schemas")
    try record(App.OldNote.self, App.OldTag.self)
    try record(App.Note.self)
  }

  /// Records each model in a separate folder and then copies its files, because the lock's check fails if the folder has other models.
  private func record(_ models: any VersionedModel.Type...) throws {
    let url = URL(fileURLWithPath: folder)
    for model in models {
      let alone = scratch.url.appending(path: "alone-\(model.schema.name)")
      try SchemaLock([model], folder: alone, records: true).check()
      let name = model.schema.name
      try FileManager.default.createDirectory(at: url.appending(path: name), withIntermediateDirectories: true)
      for kind in ["json", "strata"] {
        let file = "\(name)/\(model.schema.modelVersion).\(kind)"
        try Data(contentsOf: alone.appending(path: file)).write(to: url.appending(path: file))
      }
    }
  }

  private func git(_ arguments: String...) throws {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    let run = try Executable.run(
      "/usr/bin/git", ["-C", scratch.path("repo")] + identity + arguments, nil, in: nil)
    #expect(run.code == 0, "\(run.error)")
  }

  private func commit() throws {
    try git("init", "-q", "-b", "main")
    try git("add", "-A")
    try git("commit", "-q", "-m", "schemas")
  }

  /// Changes a recorded schema and writes it in the lock's format.
  private func change(_ name: String, _ version: Int, _ body: (inout RecordedSchema) -> Void) throws {
    let url = URL(fileURLWithPath: "\(folder)/\(name)/\(version).json")
    var schema = try RecordedSchema(json: Data(contentsOf: url))
    body(&schema)
    try schema.json().write(to: URL(fileURLWithPath: "\(folder)/\(name)/\(schema.version).json"))
  }

  @Test("schema list shows each recorded version")
  func list() throws {
    let run = Run("schema", "list", folder)
    #expect(run.code == 0)
    #expect(
      run.text == """
        model   kind       keys  steps  archive
        Note@1  structure  3     0      recorded
        Note@2  structure  4     1      recorded
        Tag@1   structure  2     0      recorded

        """, "\(run.text)")
    let json = try JSONReader().read(Run("schema", "list", folder, "--format", "json").output)
    #expect(json["models"]?.arrayValue?.first?["versions"]?.arrayValue?.last?["steps"] == ["rename text to title"])
    let github = Run("schema", "list", folder, "--format", "github").text
    #expect(github.hasPrefix("::notice file=\(folder)/Note/1.json,line=1::Note@1 "), "\(github)")
    Run("schema", "list", scratch.path("none")).expectFailure("is not a folder")
    Run("schema", "list", scratch.path("repo")).expectFailure("contains no recorded schemas")
  }

  @Test("schema diff compares two versions and exits with 1 if they differ")
  func diff() throws {
    let run = Run("schema", "diff", folder)
    #expect(run.code == 1)
    #expect(
      run.text == """
        Note 1 → 2
          the field text was removed (needs a step)
          the field mood of the type String enum(calm=calm|wild=wild) was added
          the field title of the type String was added (needs a step)
          step: rename text to title

        """, "\(run.text)")
    #expect(Run("schema", "diff", folder, "Tag").code == 0)
    let json = try JSONReader().read(Run("schema", "diff", folder, "Note", "--format", "json").output)
    #expect(json["models"]?.arrayValue?.first?["from"] == 1)
    Run("schema", "diff", folder, "None").expectFailure(code: 2, "the recorded models are Note, Tag")
    Run("schema", "diff", folder, "Note", "--from", "5").expectFailure(code: 2, "the recorded versions are 1, 2")
    Run("schema", "diff", folder, "--from", "1").expectFailure(code: 64)
  }

  @Test("schema check finds no problems in a clean folder, with and without Git")
  func clean() throws {
    let run = Run("schema", "check", folder)
    #expect(run.code == 0 && run.text == "2 models, 3 versions: no problems\n", "\(run.text)\(run.error)")
    #expect(Run("schema", "check", folder, "--format", "github").text.isEmpty)
    try commit()
    #expect(Run("schema", "check", folder + "/", "--against", "main").code == 0)
    #expect(try JSONReader().read(Run("schema", "check", folder, "--format", "json").output)["clean"] == true)
  }

  @Test("schema check --against reports files that changed or were removed since a Git revision")
  func against() throws {
    try commit()
    try change("Note", 1) { $0.fields["text"]?.type = "Int" }
    try FileManager.default.removeItem(atPath: folder + "/Tag/1.strata")
    try Data("x".utf8).write(to: URL(fileURLWithPath: folder + "/Note/2.strata"))
    _ = try scratch.file("repo/Schemas/README.md", "Text")
    let run = Run("schema", "check", folder, "--against", "HEAD", "--format", "github")
    #expect(run.code == 1)
    let lines = run.text.split(separator: "\n")
    #expect(lines.count == 3, "\(run.text)")
    for (file, word) in [("Note/1.json", "changed"), ("Note/2.strata", "changed"), ("Tag/1.strata", "removed")] {
      #expect(
        lines.contains {
          $0.hasPrefix("::error file=\(folder)/\(file),line=1::the file has been \(word) since the revision HEAD")
        },
        "\(run.text)")
    }
    #expect(Run("schema", "check", folder).text.contains("Tag/1.strata: the golden archive is missing"))
    Run("schema", "check", folder, "--against", "nope").expectFailure(code: 2, "git cannot find the revision")
    Run("schema", "check", folder, "--against=--help").expectFailure(code: 2, "is not a valid Git revision")
  }

  @Test("schema check reports a recorded schema that was edited by hand")
  func edited() throws {
    let path = folder + "/Note/1.json"
    let text = try String(contentsOfFile: path, encoding: .utf8).replacing("\"Int\"", with: "\"Int8\"")
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    let run = Run("schema", "check", folder)
    #expect(
      run.code == 1 && run.text.contains("Note/1.json: the recorded schema was edited or moved"), "\(run.text)")
    try Data("{}".utf8).write(to: URL(fileURLWithPath: path))
    #expect(Run("schema", "check", folder).text.contains("the file is not a recorded schema"))
    Run("schema", "list", folder).expectFailure("the file is not a recorded schema")
  }

  @Test("schema check reports a skipped version unless the Git revision contains it")
  func skipped() throws {
    try change("Note", 2) { ($0.version, $0.archive) = (4, nil) }
    let run = Run("schema", "check", folder)
    #expect(run.code == 1 && run.text.contains("version 4 of Note does not directly follow version 2"), "\(run.text)")
    try commit()
    #expect(Run("schema", "check", folder, "--against", "main").code == 0)
  }

  @Test("schema check requires a recorded step that covers each changed key")
  func steps() throws {
    try change("Note", 2) { ($0.steps, $0.stepKeys) = ([], []) }
    let run = Run("schema", "check", folder)
    #expect(run.code == 1)
    #expect(
      run.text.contains(
        "does not cover these changes: the field text was removed, the field title of the type String was added"),
      "\(run.text)")
    #expect(Run("schema", "check", folder, "--hook", "Note").code == 0)
    try change("Note", 2) { ($0.steps, $0.stepKeys) = (["make a title of the text"], nil) }
    #expect(Run("schema", "check", folder).code == 0, "a closure may change any key")
    try change("Note", 2) { ($0.steps, $0.stepKeys) = (["drop text"], ["text"]) }
    #expect(
      Run("schema", "check", folder).text.contains(
        "does not cover these changes: the field title of the type String was added"))
    try change("Note", 2) {
      ($0.steps, $0.stepKeys) = (["drop text", "set the default of title: \"\""], ["text", "title"])
    }
    #expect(Run("schema", "check", folder).code == 0)
  }

  @Test("schema check accepts a field whose model was renamed")
  func renamedModel() throws {
    try change("Tag", 1) { $0.fields["name"]?.type = "Author" }
    try change("Tag", 1) {
      ($0.version, $0.archive) = (2, nil)
      $0.fields["name"]?.type = "Person"
    }
    #expect(Run("schema", "check", folder).text.contains("the type of the field name changed from Author to Person"))
    for (name, version) in [("Author", 1), ("Person", 2)] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
      var schema = try RecordedSchema(json: Data(contentsOf: URL(fileURLWithPath: folder + "/Tag/1.json")))
      (schema.name, schema.version, schema.archive) = (name, version, nil)
      try schema.json().write(to: URL(fileURLWithPath: "\(folder)/\(name)/\(version).json"))
    }
    #expect(Run("schema", "check", folder).code == 0, "\(Run("schema", "check", folder).text)")
  }

  @Test("An app's tool checks and records the schemas of its models")
  func models() throws {
    let missing = Run(["schema", "check", folder], models: [App.Note.self, App.Tag.self])
    #expect(missing.code == 1 && missing.text.contains("version 2 of Tag is not recorded"), "\(missing.text)")
    let wrong = Run(["schema", "record", folder], models: [App.Note.self, App.Tag.self])
    wrong.expectFailure("no step of Tag from version 1 to 2 covers")
    try FileManager.default.removeItem(atPath: folder + "/Tag")
    let run = Run(["schema", "record", folder], models: App.models)
    #expect(run.code == 0 && run.text == "recorded  Folder@1\nrecorded  Tag@2\n", "\(run.text)\(run.error)")
    #expect(Run(["schema", "record", folder], models: App.models).text == "all versions are already recorded\n")
    #expect(Run(["schema", "check", folder], models: App.models).code == 0)
  }

  @Test("schema proof upgrades random archives and reports a loss with its seed")
  func proof() throws {
    let models: [any VersionedModel.Type] = [App.Note.self]
    let proven = scratch.path("proven")
    let lost = scratch.path("lost")
    for folder in [proven, lost] {
      #expect(Run(["schema", "record", folder], models: [App.OldNote.self]).code == 0)
    }
    #expect(Run(["schema", "record", proven], models: models).code == 0)
    let run = Run(["schema", "proof", proven, "--archives", "20"], models: models)
    #expect(run.code == 0 && run.text == "1 model, 2 versions: no problems\n", "\(run.text)\(run.error)")

    #expect(Run(["schema", "record", lost], models: [App.CutNote.self]).code == 0)
    let json = Run(["schema", "proof", lost, "--seed", "7", "--format", "json"], models: [App.CutNote.self])
    let document = try JSONReader().read(json.output)
    #expect(json.code == 1 && document["seed"] == 7 && document["archives"] == 200, "\(json.text)")
    let message = document["problems"]?.arrayValue?.first?["message"]?.stringValue
    #expect(message?.contains("changes the key text, which it does not declare") == true, "\(json.text)")
    #expect(message?.hasSuffix("seed 7)") == true)
    Run("schema", "proof", proven).expectFailure(code: 2, "which this program does not contain")
    Run("schema", "proof", proven, "--archives", "0").expectFailure(code: 64)
  }

  @Test("GitHub annotations escape special characters in file paths")
  func annotations() throws {
    try FileManager.default.moveItem(atPath: folder, toPath: scratch.path("repo/A, b: 100%"))
    try FileManager.default.removeItem(atPath: scratch.path("repo/A, b: 100%/Note/1.strata"))
    let run = Run("schema", "check", scratch.path("repo/A, b: 100%"), "--format", "github")
    #expect(run.text.contains("/A%2C b%3A 100%25/Note/1.strata,line=1::the golden"), "\(run.text)")
  }

  // MARK: html

  @Test("The schema page has a table for each model with versions, fields and steps")
  func page() throws {
    let run = Run("schema", "html", folder, "-o", "-")
    #expect(run.code == 0)
    for part in [
      "<h2>Note</h2>", "<th scope=\"col\">version 2</th>", "<li>rename text to title</li>",
      "<th scope=\"row\">title</th>",
      "<td class=\"step added\">added</td>", "<td class=\"step removed\">removed</td>", "prefers-color-scheme:dark",
      "@media print",
    ] { #expect(run.text.contains(part), "\(part)") }
    #expect(!run.text.contains("<script") && !run.text.contains("http"))
  }

  @Test("The schema page escapes markup in names and values")
  func hostileNames() throws {
    let name = "<script>alert('\"&\u{202E}</td>"
    try change("Tag", 1) {
      $0.fields = Dictionary($0.fields.values.map { (name, $0) }, uniquingKeysWith: { one, _ in one })
      $0.steps = [name]
      $0.version = 2
      $0.fields[name]?.initial = name
      $0.fields[name]?.type = name
    }
    let text = Run("schema", "html", folder, "-o", "-").text
    #expect(
      !text.contains("<script") && !text.contains("\u{202E}") && text.contains("&lt;script&gt;alert(&#39;&quot;&amp;"))
    #expect(text.matches(of: /<td/).count == text.matches(of: /<\/td>/).count)
  }

  @Test(
    "The schema page renders in a browser", .tags(.long), .enabled(if: Browser.path != nil, "Chromium is not installed")
  )
  func browser() throws {
    let shown = try Browser(Run("schema", "html", folder, "-o", "-").text)
    shown.expectOrder()
    #expect(shown.text.contains("rename text to title"), "\(shown.text)")
  }
}
