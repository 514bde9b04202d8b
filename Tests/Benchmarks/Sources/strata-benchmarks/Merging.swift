import Foundation
import StrataCore

extension Runner {
  /// Compares merging refreshed models into existing ones by identity with just decoding the refreshed models.
  func compareMerging() throws {
    try compareMergingOfJSON()
    let names = ["merge/decode", "merge/decode-all", "merge/decode-base", "merge/archive", "grow/merge"]
    guard names.contains(where: wants) else { return }
    let models = Small.make(10_000)
    let tenth = try Small.changed(models, every: 10)
    try compareMerging("merge/decode", models, tenth)
    try compareMerging("merge/decode-all", models, try Small.changed(models, every: 1))
    // Half of the models that the server changed were also edited locally.
    let edited = try Small.changed(models, every: 20, by: "edited")
    try compareMerging("merge/decode-base", edited, tenth, base: models)
    let body = try ArchiveEncoder().encodeBody(tenth)
    try time("merge/archive", inverted: true) {
      var merged = models
      consume(try merged.mergeValues(from: tenth))
    } theirs: {
      consume(try ArchiveDecoder().decodeBody([Small].self, from: body))
    }
    guard wants("grow/merge") else { return }
    let many = Small.make(300_000), few = Small.make(1000)
    let (manyFresh, fewFresh) = try (Small.changed(many, every: 10), Small.changed(few, every: 10))
    try time("grow/merge", inverted: true, oursPer: many.count, theirsPer: few.count) {
      var merged = many
      consume(try merged.mergeValues(from: manyFresh))
    } theirs: {
      var merged = few
      consume(try merged.mergeValues(from: fewFresh))
    }
  }

  /// Compares merging JSON with decoding the same bytes, for one model and for 100 models of which a tenth has changed.
  private func compareMergingOfJSON() throws {
    guard ["merge/json-one", "merge/json-list"].contains(where: wants) else { return }
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    // The dates have whole seconds, because JSONDecoder's `.iso8601` strategy reads no fractions.
    let models = Small.make(100).map { model in
      var model = model
      model.createdAt = Date(timeIntervalSinceReferenceDate: model.createdAt.timeIntervalSinceReferenceDate.rounded())
      return model
    }
    let fresh = try Small.changed(models, every: 10)
    let (one, list) = try (JSONWriter().write(fresh[0]), JSONWriter().write(fresh))
    var (merged, all) = (models[0], models)
    guard try merged.merge(.json(one)).changedKeys == ["name", "score"],
      try !all.merge(.json(list)).isEmpty, merged == fresh[0], all == fresh,
      try decoder.decode(Small.self, from: one) == fresh[0], try decoder.decode([Small].self, from: list) == fresh
    else { throw Failure("both sides must have the same models") }
    try time("merge/json-one", inverted: true) {
      var merged = models[0]
      consume(try merged.merge(.json(one)))
    } theirs: {
      consume(try decoder.decode(Small.self, from: one))
    }
    try time("merge/json-list", inverted: true) {
      var merged = models
      consume(try merged.merge(.json(list)))
    } theirs: {
      consume(try decoder.decode([Small].self, from: list))
    }
  }

  private func compareMerging(
    _ name: String, _ models: [Small], _ refresh: [Small], base: [Small]? = nil
  ) throws {
    guard wants(name) else { return }
    let json = try JSONWriter().write(refresh)
    var result = models
    let report = try result.mergeValues(from: refresh, base: base)
    guard base != nil || result == refresh, !report.isEmpty else { throw Failure("\(name) did not merge") }
    try time(name, inverted: true) {
      var merged = models
      consume(try merged.mergeValues(from: refresh, base: base))
    } theirs: {
      consume(try JSONReader().read([Small].self, from: json))
    }
  }
}

extension Small {
  /// Returns the models with a new name for every `step`th one. With the default `mark`, its score changes as well.
  ///
  /// The result is decoded, so that it shares no memory with the source.
  static func changed(_ models: [Small], every step: Int, by mark: String = "refreshed") throws -> [Small] {
    let changed = models.enumerated().map { place, model in
      guard place.isMultiple(of: step) else { return model }
      var changed = model
      changed.name += " " + mark
      if mark == "refreshed" { changed.score += 1 }
      return changed
    }
    return try ArchiveDecoder().decodeBody([Small].self, from: ArchiveEncoder().encodeBody(changed))
  }
}
