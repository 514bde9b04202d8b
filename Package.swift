// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

let features: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("ImmutableWeakCaptures"),
]

// The cursor over untrusted bytes is a non-escapable type, and returning a span needs this feature.
let lifetimes: [SwiftSetting] = [.enableExperimentalFeature("Lifetimes")]

// The parts that need other packages. An app that depends on Strata by its address resolves swift-syntax alone, unless it names other
// traits. A clone has the tool and its tests as well. Docs/Decisions/0015-platforms-and-packages.md gives the reasons and the costs.
//
// SwiftPM reads the manifest of a dependency at "/" while it resolves, and in a folder "checkouts" afterwards.
let isDependency = Context.packageDirectory == "/" || Context.packageDirectory.contains("/checkouts/")
let macros = TargetDependencyCondition.when(traits: ["Macros"])
let logging = TargetDependencyCondition.when(traits: ["Logging"])
let metrics = TargetDependencyCondition.when(traits: ["Metrics"])
let collections = TargetDependencyCondition.when(traits: ["Collections"])
let store = TargetDependencyCondition.when(traits: ["Store"])
let tool = TargetDependencyCondition.when(traits: ["Tool"])

let swiftSyntaxProducts = { (names: [String]) -> [Target.Dependency] in
  names.map { .product(name: $0, package: "swift-syntax", condition: macros) }
}
let grdbProduct = Target.Dependency.product(name: "GRDB", package: "GRDB.swift", condition: store)
let serverProducts: [Target.Dependency] = [
  .product(name: "FlyingFox", package: "FlyingFox", condition: tool),
  .product(name: "FlyingSocks", package: "FlyingFox", condition: tool),
]

// The packages by their names, so that a part of the manifest can keep those that it needs.
let packages: KeyValuePairs<String, Package.Dependency> = [
  // Only the macro needs it: nothing that depends on StrataCore alone compiles it. Built and tested with 602.0.0 and 603.0.1; each version
  // of swift-syntax has a major number of its own, and other macro packages must find one that suits them as well.
  "swift-syntax": .package(url: "https://github.com/swiftlang/swift-syntax", "602.0.0"..<"605.0.0"),
  "swift-argument-parser": .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
  "GRDB.swift": .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  // For the server that refreshing is tried with, and for the tests of StrataRemote. No product needs it.
  "FlyingFox": .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
  "swift-log": .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
  "swift-metrics": .package(url: "https://github.com/apple/swift-metrics", from: "2.7.0"),
  "swift-collections": .package(url: "https://github.com/apple/swift-collections", "1.1.0"..<"2.0.0"),
]

let package = Package(
  name: "Strata",
  platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
  products: [
    .library(name: "Strata", targets: ["Strata"]),
    // Everything but the macro, without and with keyed archives and property lists. Foundation and zlib only.
    .library(name: "StrataCore", targets: ["StrataCore"]),
    .library(name: "StrataLegacy", targets: ["StrataLegacy"]),
    // Snapshots of models in SQLite. Needs GRDB, and the library of SQLite.
    .library(name: "StrataStore", targets: ["StrataStore"]),
    // What a server says, folded into the store; what is changed here, sent to it. Needs GRDB as well.
    .library(name: "StrataRemote", targets: ["StrataRemote"]),
    // Deque, OrderedDictionary and OrderedSet as properties of models. Needs the trait Collections, without which it is empty.
    .library(name: "StrataCollections", targets: ["StrataCollections"]),
    // For the tests of an app: locks the shapes of its models.
    .library(name: "StrataTesting", targets: ["StrataTesting"]),
    // `swift package strata-schema`: checks, proves and records the schemas of an app with its own tool.
    .plugin(name: "StrataSchemaPlugin", targets: ["StrataSchemaPlugin"]),
    // The command line tool, and the library of which an app makes a tool that knows its models. Both need the trait Tool.
    .executable(name: "strata", targets: ["strata-cli"]),
    .library(name: "StrataTool", targets: ["StrataTool"]),
  ],
  traits: [
    .default(enabledTraits: isDependency ? ["Macros"] : ["Macros", "Tool"]),
    .trait(
      name: "Macros",
      description: "@Model and @Field, of the library Strata. Without it, Strata is StrataCore and StrataLegacy."),
    .trait(name: "Store", description: "StrataStore and StrataRemote, which stand on GRDB."),
    .trait(name: "Collections", description: "Deque, OrderedDictionary and OrderedSet as properties of models."),
    .trait(name: "Logging", description: "Tells swift-log how long encoding, decoding, JSON and merging take."),
    .trait(name: "Metrics", description: "Tells swift-metrics the durations and bytes of the same, and their errors."),
    .trait(name: "Signposts", description: "Makes intervals of the same for Instruments, on Apple's platforms."),
    .trait(
      name: "Libdeflate",
      description: "Deflates and inflates with libdeflate, which must be installed: Linux has it as libdeflate-dev."),
    .trait(name: "Tool", description: "The command line tool, with all that it needs.", enabledTraits: ["Store"]),
  ],
  dependencies: packages.map(\.value),
  targets: [
    // Without pkgConfig, which would add paths of the machine to builds for simulators; the module map links the library.
    .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
    // Linked only with the trait Libdeflate.
    .systemLibrary(name: "CLibdeflate", providers: [.apt(["libdeflate-dev"])]),
    // Three inline functions, for platforms older than Swift's Atomic.
    .systemLibrary(name: "CAtomics"),
    .target(
      name: "StrataCore",
      dependencies: [
        "CZlib", "CAtomics", .target(name: "CLibdeflate", condition: .when(traits: ["Libdeflate"])),
        .product(name: "Logging", package: "swift-log", condition: logging),
        .product(name: "Metrics", package: "swift-metrics", condition: metrics),
      ],
      swiftSettings: features + lifetimes),
    .target(name: "StrataLegacy", dependencies: ["StrataCore"], swiftSettings: features + lifetimes),
    .target(name: "StrataTesting", dependencies: ["StrataCore"], swiftSettings: features),
    .target(
      name: "StrataCollections",
      dependencies: [
        "StrataCore", .product(name: "OrderedCollections", package: "swift-collections", condition: collections),
        .product(name: "DequeModule", package: "swift-collections", condition: collections),
      ],
      swiftSettings: features),
    .target(
      name: "StrataStore",
      dependencies: [
        "StrataCore", grdbProduct,
        .product(name: "GRDBSQLite", package: "GRDB.swift", condition: store),
      ],
      swiftSettings: features),
    .target(
      name: "StrataRemote",
      dependencies: ["StrataCore", "StrataStore", grdbProduct],
      swiftSettings: features),
    .macro(
      name: "StrataMacros",
      dependencies: swiftSyntaxProducts([
        "SwiftSyntax", "SwiftParser", "SwiftSyntaxBuilder", "SwiftSyntaxMacros", "SwiftDiagnostics",
        "SwiftCompilerPlugin",
      ]),
      swiftSettings: features
    ),
    .target(
      name: "Strata", dependencies: ["StrataCore", "StrataLegacy", .target(name: "StrataMacros", condition: macros)],
      swiftSettings: features),
    // Models, generators and helpers that the tests of several modules share.
    .target(
      name: "StrataTestSupport", dependencies: ["StrataCore", "StrataLegacy"],
      path: "Tests/StrataTestSupport", swiftSettings: features),
    .testTarget(
      name: "StrataCoreTests",
      dependencies: ["Strata", "StrataCore", "StrataLegacy", "StrataTestSupport", "NeighbourNames"],
      swiftSettings: features),
    .testTarget(
      name: "StrataLegacyTests", dependencies: ["Strata", "StrataCore", "StrataLegacy", "StrataTestSupport"],
      swiftSettings: features),
    // Simulations, fuzz trials, processes and concurrency of StrataCore, without the macro.
    .testTarget(
      name: "StrataStressTests", dependencies: ["StrataCore", "StrataLegacy", "StrataTestSupport", "strata-behaviour"],
      swiftSettings: features),
    .testTarget(
      name: "StrataStoreTests",
      dependencies: ["StrataStore", "StrataCore", "StrataTestSupport", grdbProduct],
      swiftSettings: features),
    .testTarget(
      name: "StrataRemoteTests",
      dependencies: [
        "StrataRemote", "StrataStore", "StrataCore", "StrataTestSupport", "StrataServer",
        grdbProduct,
      ] + serverProducts,
      swiftSettings: features),
    .testTarget(
      name: "StrataMacrosTests",
      dependencies: ["StrataMacros"]
        + swiftSyntaxProducts([
          "SwiftSyntax", "SwiftDiagnostics", "SwiftParser", "SwiftSyntaxBuilder", "SwiftSyntaxMacroExpansion",
          "SwiftSyntaxMacros",
          "SwiftSyntaxMacrosGenericTestSupport",
        ]),
      swiftSettings: features
    ),
    // Prints the results of many merges, upgrades and files. Its folder compiles against older commits as well.
    .executableTarget(
      name: "strata-behaviour", dependencies: ["StrataCore", "StrataLegacy"], path: "Tests/Behaviour",
      exclude: ["golden.tsv", "differences.tsv"], swiftSettings: features),
    // The calls whose instructions Tests/Scripts/counts counts.
    .executableTarget(
      name: "strata-counts", dependencies: ["StrataCore", "StrataLegacy", "StrataStore", grdbProduct],
      path: "Tests/Counts", exclude: ["record.tsv"], swiftSettings: features),
    // Names that other libraries declare: a test uses both.
    .target(name: "NeighbourNames", path: "Tests/NeighbourNames", swiftSettings: features),
    .testTarget(
      name: "StrataTests",
      dependencies: [
        "Strata", "StrataStore", "StrataRemote", "StrataTesting", "StrataTestSupport", grdbProduct,
      ],
      swiftSettings: features),
    .testTarget(
      name: "StrataTestingTests", dependencies: ["StrataCore", "StrataTesting", "StrataTestSupport"],
      swiftSettings: features),
    .target(
      name: "StrataTool",
      dependencies: [
        "StrataCore", "StrataLegacy", "StrataStore", "StrataRemote", "StrataTesting",
        .product(name: "ArgumentParser", package: "swift-argument-parser", condition: tool),
      ],
      // Links to Fixtures/json/tour: the program runs where the repository is not.
      resources: [.embedInCode("Tour/Responses")],
      swiftSettings: features),
    .executableTarget(name: "strata-cli", dependencies: ["StrataTool"], swiftSettings: features),
    // The tool of an app, to try workers with (Docs/Scaling.md).
    .executableTarget(
      name: "strata-tickets", dependencies: ["StrataCore", "StrataTool"], path: "Tests/Tickets", swiftSettings: features
    ),
    .plugin(
      name: "StrataSchemaPlugin",
      capability: .command(
        intent: .custom(verb: "strata-schema", description: "Check, prove or record the schemas of the app's models."),
        permissions: [.writeToPackageDirectory(reason: "It records schemas in the folder of the lock.")]),
      path: "Sources/StrataSchemaPlugin"),
    .testTarget(
      name: "StrataToolTests",
      dependencies: [
        "StrataCore", "StrataLegacy", "StrataStore", "StrataTesting", "StrataTool", "StrataTestSupport", "strata-cli",
        "strata-tickets", grdbProduct,
      ],
      swiftSettings: features),
    // A small server of JSON records, to try refreshing with.
    .target(
      name: "StrataServer",
      dependencies: [
        "StrataCore", "StrataRemote",
        .product(name: "ArgumentParser", package: "swift-argument-parser", condition: tool),
      ] + serverProducts,
      path: "Tests/Server", exclude: ["README.md", "Main"], swiftSettings: features),
    // A target of its own: SwiftPM does not always build the module of an executable before the tests that import it.
    .executableTarget(
      name: "strata-serve", dependencies: ["StrataServer"], path: "Tests/Server/Main", swiftSettings: features),
    .testTarget(
      name: "ServerTests",
      dependencies: [
        "StrataCore", "StrataRemote", "StrataStore", "StrataTestSupport", "StrataServer", "strata-serve", grdbProduct,
        .product(name: "ArgumentParser", package: "swift-argument-parser", condition: tool),
      ],
      swiftSettings: features),
  ]
)

// STRATA_TARGETS="StrataStressTests strata-cli" keeps these targets and what they depend on. Neither needs the macro, so a sanitizer, a
// release build or a quick build of their tests does not compile swift-syntax once more.
if let names = Context.environment["STRATA_TARGETS"] {
  var pending = names.split(separator: " ").map(String.init)
  var keptTargets = Set<String>()
  var keptPackages = Set<String>()
  while let name = pending.popLast() {
    guard keptTargets.insert(name).inserted else { continue }
    for dependency in package.targets.first(where: { $0.name == name })?.dependencies ?? [] {
      switch dependency {
      case .targetItem(let name, _), .byNameItem(let name, _): pending.append(name)
      case .productItem(_, let package, _, _): keptPackages.insert(package ?? "")
      @unknown default: break
      }
    }
  }
  package.products.removeAll { !(($0 as? Product.Executable)?.targets.allSatisfy(keptTargets.contains) ?? false) }
  package.targets.removeAll { !keptTargets.contains($0.name) }
  package.dependencies = packages.filter { keptPackages.contains($0.key) }.map(\.value)
}
