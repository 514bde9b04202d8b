import Foundation

// Runs one call so that Tests/Scripts/counts can count its instructions:
//
//     valgrind --tool=callgrind --toggle-collect=strata_measured strata-counts NAME
//     strata-counts --list
//     strata-counts --list-growing

func run(_ arguments: [String]) throws {
  let benchmarks = Benchmark.coding + Benchmark.json + Benchmark.merging + Benchmark.storing
  guard arguments.count == 1 else { throw Failure("usage: strata-counts NAME | --list") }
  if arguments[0] == "--list" { return benchmarks.forEach { print($0.name) } }
  if arguments[0] == "--list-growing" { return Benchmark.growing.forEach { print($0.name) } }
  guard let benchmark = Benchmark.growing(arguments[0]) ?? benchmarks.first(where: { $0.name == arguments[0] }) else {
    throw Failure("there is no benchmark \(arguments[0]); --list prints their names")
  }
  try benchmark.run()
}

do { try run(Array(CommandLine.arguments.dropFirst())) } catch {
  FileHandle.standardError.write(Data("strata-counts: \(error)\n".utf8))
  exit(1)
}
