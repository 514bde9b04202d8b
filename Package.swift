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

// The parts that need other packages. Who depends on Strata with `traits: []` resolves none of them, and with `traits: ["Store"]` GRDB
// alone. All are on unless said otherwise; Docs/Decisions/0015-platforms-and-packages.md tells what each costs.
let macros = TargetDependencyCondition.when(traits: ["Macros"])
let logging = TargetDependencyCondition.when(traits: ["Logging"])
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

// Of the trait Collections.
let swiftCollections = Package.Dependency.package(
  url: "https://github.com/apple/swift-collections", "1.1.0"..<"2.0.0")
// Of the trait Logging.
let swiftLog = Package.Dependency.package(url: "https://github.com/apple/swift-log", from: "1.6.0")
let argumentParser = Package.Dependency.package(
  url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
// Of StrataStore and StrataRemote.
let grdb = Package.Dependency.package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0")
// The small server of the tool, and of the tests of StrataRemote.
let flyingFox = Package.Dependency.package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1")

let package = Package(
  name: "Strata",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Strata", targets: ["Strata"]),
    // Everything but the macro, without and with keyed archives and property lists. Foundation and zlib only.
    .library(name: "StrataCore", targets: ["StrataCore"]),
    .library(name: "StrataLegacy", targets: ["StrataLegacy"]),
    // Snapshots of models in SQLite. Needs GRDB, and the library of SQLite.
    .library(name: "StrataStore", targets: ["StrataStore"]),
    // What a server says, folded into the store; what is changed here, sent to it. Needs GRDB as well.
    .library(name: "StrataRemote", targets: ["StrataRemote"]),
    // OrderedDictionary and OrderedSet as properties of models. Needs the trait Collections, without which it is empty.
    .library(name: "StrataCollections", targets: ["StrataCollections"]),
    // The command line tool.
    .executable(name: "strata", targets: ["strata-cli"]),
  ],
  traits: [
    .default(enabledTraits: ["Macros", "Tool"]),
    .trait(
      name: "Macros",
      description: "@Model and @Field, of the library Strata. Without it, Strata is StrataCore and StrataLegacy."),
    .trait(name: "Store", description: "StrataStore and StrataRemote, which stand on GRDB."),
    .trait(name: "Collections", description: "OrderedDictionary and OrderedSet as properties of models."),
    .trait(name: "Logging", description: "Tells swift-log how long encoding, decoding, JSON and merging take."),
    .trait(name: "Signposts", description: "Makes intervals of the same for Instruments, on Apple's platforms."),
    .trait(name: "Tool", description: "The command line tool, with all that it needs.", enabledTraits: ["Store"]),
  ],
  dependencies: [
    // Of the macro alone: nothing that stands on StrataCore compiles it. Built and tested with 602.0.0 and 603.0.1; every version of
    // swift-syntax has a major number of its own, and other macro packages must find one that suits them as well.
    .package(url: "https://github.com/swiftlang/swift-syntax", "602.0.0"..<"605.0.0"),
    argumentParser,
    grdb,
    flyingFox,
    swiftLog,
    swiftCollections,
  ],
  targets: [
    // Without pkgConfig, which would add paths of the machine to builds for simulators; the module map links the library.
    .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
    .target(
      name: "StrataCore", dependencies: ["CZlib", .product(name: "Logging", package: "swift-log", condition: logging)],
      swiftSettings: features + lifetimes),
    .target(name: "StrataLegacy", dependencies: ["StrataCore"], swiftSettings: features + lifetimes),
    .target(
      name: "StrataCollections",
      dependencies: [
        "StrataCore", .product(name: "OrderedCollections", package: "swift-collections", condition: collections),
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
        "SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros", "SwiftDiagnostics", "SwiftCompilerPlugin",
      ]),
      swiftSettings: features
    ),
    .target(
      name: "Strata", dependencies: ["StrataCore", "StrataLegacy", .target(name: "StrataMacros", condition: macros)],
      swiftSettings: features),
    // What the tests of several modules share.
    .target(
      name: "StrataTestSupport", dependencies: ["StrataCore"], path: "Tests/StrataTestSupport", swiftSettings: features),
    // Prints what the library does with many inputs. Its folder compiles against older commits as well.
    .executableTarget(
      name: "strata-behaviour", dependencies: ["StrataCore", "StrataLegacy"], path: "Tests/Behaviour",
      exclude: ["golden.tsv", "differences.tsv"], swiftSettings: features),
    .testTarget(
      name: "StrataCoreTests", dependencies: ["StrataCore", "StrataLegacy", "StrataTestSupport"],
      swiftSettings: features),
    .testTarget(
      name: "StrataStoreTests",
      dependencies: ["StrataStore", "StrataCore", "StrataTestSupport", grdbProduct],
      swiftSettings: features),
    .testTarget(
      name: "StrataRemoteTests",
      dependencies: [
        "StrataRemote", "StrataStore", "StrataCore", "StrataTestSupport",
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
    // Names that other libraries declare: a test uses both.
    .target(name: "NeighbourNames", path: "Tests/NeighbourNames", swiftSettings: features),
    .testTarget(
      name: "StrataTests",
      dependencies: [
        "Strata", "StrataStore", "StrataRemote", "StrataTestSupport", "NeighbourNames",
        grdbProduct,
      ],
      swiftSettings: features),
    .target(
      name: "StrataTool",
      dependencies: [
        "StrataCore", "StrataLegacy", "StrataStore", "StrataRemote", grdbProduct,
        .product(name: "ArgumentParser", package: "swift-argument-parser", condition: tool),
      ] + serverProducts,
      swiftSettings: features),
    .executableTarget(name: "strata-cli", dependencies: ["StrataTool"], swiftSettings: features),
    .testTarget(
      name: "StrataToolTests",
      dependencies: [
        "StrataCore", "StrataLegacy", "StrataRemote", "StrataStore", "StrataTool", "StrataTestSupport", "strata-cli",
        grdbProduct,
      ],
      swiftSettings: features),
  ]
)

// Without the macro, whose own dependency takes minutes to build a second time: the core, the store, refreshing and their
// tests for the thread sanitizer (see `.ci/run`), and the core alone for the simulation of merges (see
// `Tests/merge-simulation.sh`).
let isSanitized = Context.environment["STRATA_THREAD_SANITIZER"] != nil
let isStore = Context.environment["STRATA_STORE"] != nil
if isSanitized {
  package.products = []
  package.dependencies = [grdb, flyingFox, swiftLog]
  package.targets.removeAll {
    ![
      "CZlib", "StrataCore", "StrataLegacy", "StrataStore", "StrataRemote", "StrataTestSupport",
      "StrataCoreTests", "StrataStoreTests", "StrataRemoteTests",
    ].contains($0.name)
  }
}
if Context.environment["STRATA_CORE"] != nil {
  package.products = []
  package.dependencies = [swiftLog]
  package.targets.removeAll {
    !["CZlib", "StrataCore", "StrataLegacy", "StrataTestSupport", "StrataCoreTests", "strata-behaviour"]
      .contains($0.name)
  }
}
// The store and its tests without the macro, for a quick build.
if isStore {
  package.products = []
  package.dependencies = [grdb, swiftLog]
  package.targets.removeAll {
    !["CZlib", "StrataCore", "StrataStore", "StrataTestSupport", "StrataStoreTests"].contains($0.name)
  }
}
// Refreshing and its tests without the macro, for a quick build.
let isRemote = Context.environment["STRATA_REMOTE"] != nil
if isRemote {
  package.products = []
  package.dependencies = [grdb, flyingFox, swiftLog]
  package.targets.removeAll {
    !["CZlib", "StrataCore", "StrataStore", "StrataRemote", "StrataTestSupport", "StrataRemoteTests"].contains($0.name)
  }
}
// The command line tool, the store and their tests without the macro, for a quick build.
if Context.environment["STRATA_TOOL"] != nil {
  package.products.removeAll { ["Strata", "StrataCollections"].contains($0.name) }
  package.dependencies = [argumentParser, grdb, flyingFox, swiftLog]
  package.targets.removeAll {
    ![
      "CZlib", "StrataCore", "StrataLegacy", "StrataStore", "StrataRemote", "StrataTool", "strata-cli",
      "StrataTestSupport",
      "StrataStoreTests", "StrataToolTests",
    ].contains($0.name)
  }
}
if isSanitized {
  package.targets.append(.target(name: "SanitizedMutex", path: "Tests/SanitizedMutex"))
  for target in package.targets
  where ["StrataCoreTests", "StrataStoreTests", "StrataRemoteTests"].contains(target.name) {
    target.dependencies.append("SanitizedMutex")
  }
}
