// swift-tools-version: 6.2
import PackageDescription

let features: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

// This is a separate package, because its hundreds of models would slow down every build of the tests. `Tests/Scripts/laws`
// writes the models and runs the package.
let package = Package(
  name: "Laws",
  platforms: [.macOS(.v15)],
  dependencies: [
    // The same traits as in Tests/Recipes, so that both packages can share a build folder.
    .package(name: "Strata", path: "../..", traits: ["Macros", "Store", "Logging", "Metrics", "Collections"]),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
  ],
  targets: [
    .executableTarget(
      name: "laws",
      dependencies: [
        .product(name: "Strata", package: "Strata"), .product(name: "StrataCollections", package: "Strata"),
        .product(name: "StrataStore", package: "Strata"), .product(name: "StrataRemote", package: "Strata"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "OrderedCollections", package: "swift-collections"),
      ],
      swiftSettings: features)
  ]
)
