import Foundation

struct Options {
  var json: String?
  var rounds = 11
  var filter: String?

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      guard let value = rest.popFirst() else { throw Failure(Self.usage) }
      switch name {
      case "--json": json = value
      case "--rounds":
        guard let number = Int(value), number > 0 else { throw Failure(Self.usage) }
        rounds = number
      case "--filter": filter = value
      default: throw Failure(Self.usage)
      }
    }
  }

  static let usage =
    "usage: strata-benchmarks [--json FILE] [--rounds N] [--filter TEXT]\n"
    + "       strata-benchmarks --stream-memory COUNT | --store-scale COUNT | --store-calls COUNT |\n"
    + "         --store-journal COUNT"
}

let notes = """
  Ratios are theirs / ours: how many times faster, or in size/ rows smaller, Strata is. Below 1 the peer is better.
  codable/ is types that are only Codable, against JSONEncoder and JSONDecoder without compression; encode/ and decode/ are without
  on our side too, archive/ and unarchive/ with it.
  upgrade/decode is the time to open version 1 / the time to open today's version. grow/ is the time for a model among
  1,000,000 / the time for one among 1,000, and of a linked list of 100,000 objects / one of 1,000. In all of them a
  smaller ratio is better. grow/legacy is a model among 10,000 of a keyed archive / one among 100, and grow/legacy-data a data
  object among 100,000 / one among 1,000.
  decimals/ is 111,126 decimals of 16 and 17 digits, against JSONEncoder and JSONDecoder of [Decimal], without compression.
  grow/patch is an operation of a JSON Patch with one for each of 100,000 keys / of one with 1,000, and grow/patch-make
  an operation of such a patch while it is made of two documents; with -list for the elements of a list.
  encode/ and decode/ are without compression; archive/ and unarchive/ have zlib at level 6 and memory
  level 9 behind both sides.
  Strata, JSON and property lists hold URL and Date; protobuf has neither: strings and doubles there.
  merge/ is the time to merge a refresh of 10,000 models into as many / the time to decode that refresh from JSON, with one
  in ten changed, with all changed (-all), and with edits and a base (-base); merge/archive: from our own encoding instead. A
  smaller ratio is better. merge/json is the time to merge the JSON of one model, or of 100 by identity with one in ten changed /
  the time that JSONDecoder takes for the same bytes.
  store/ is the time that a store takes / that GRDB takes, by hand, for the same models in the same columns, and size/store
  the same of bytes turned round.
  upsert/ is the time to save 1,000 blogs of 10 posts by 100 authors as entities / with a hand-written GRDB upsert for each row:
  one post in ten changed, with all rows new (-new), and read again with three queries by hand (fetch). upsert/one is the
  time to save an entity alone. upsert/json is the time to
  apply JSON of 10,000 posts to rows, one in ten changed / to decode it with JSONDecoder and upsert each.
  refresh/ is the time to refresh 10,000 entities from a server on loopback / to fetch and decode the same bytes and write them by
  hand with GRDB: one in ten changed, all new (-first); refresh/not-modified is a 304 / that refresh, both ours.
  NSKeyedArchiver is quadratic in the number of objects, so it takes part up to 1,000 small models.
  """

func run(_ arguments: [String]) async throws {
  if arguments.count == 2, arguments[0] == KeyedTrial.argument { return try KeyedTrial.run(arguments[1]) }
  if arguments.count == 2, arguments[0] == StreamMemory.argument, let count = Int(arguments[1]) {
    return try await StreamMemory.run(count)
  }
  if arguments.count == 2, arguments[0] == StoreScale.argument, let count = Int(arguments[1]) {
    return try StoreScale.run(count)
  }
  if arguments.count == 2, arguments[0] == StoreCalls.argument, let count = Int(arguments[1]) {
    return try await StoreCalls.run(count)
  }
  if arguments.count == 2, arguments[0] == StoreJournalSize.argument, let count = Int(arguments[1]) {
    return try StoreJournalSize.run(count)
  }
  let options = try Options(arguments)
  let runner = Runner(rounds: options.rounds, filter: options.filter)
  let tweets = try Corpus.tweets()
  say(notes + "\n\n" + Report.head)
  try runner.compareTweets(tweets)
  try runner.compareJSON(tweets)
  try runner.compareCodable()
  try runner.compareOpening(tweets)
  try runner.compareGrowth()
  try runner.compareDecimals()
  try runner.compareGraphs()
  try runner.compareMerging()
  try runner.compareMergingOfGraphs()
  try runner.comparePatches()
  try runner.compareLegacy(tweets)
  try runner.compareStore()
  try runner.compareEntities()
  try runner.compareApplying()
  try runner.compareSavingOne()
  try runner.compareRefreshing()
  for count in [1, 100, 1000, 10_000, 1_000_000] { try runner.compareSmall(count) }
  if let path = options.json {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try encoder.encode(runner.rows).write(to: URL(filePath: path))
  }
}

do { try await run(Array(CommandLine.arguments.dropFirst())) } catch {
  FileHandle.standardError.write(Data("strata-benchmarks: \(error)\n".utf8))
  exit(1)
}
