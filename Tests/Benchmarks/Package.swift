// swift-tools-version: 6.2
import PackageDescription

let features: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// This is a separate package, so that users of Strata never fetch the libraries that the benchmarks compare it with.
let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Strata", path: "../..", traits: ["Store"]),
    .package(url: "https://github.com/apple/swift-protobuf.git", exact: "1.39.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
  ],
  targets: [
    .systemLibrary(name: "CBenchmarkZlib", providers: [.apt(["zlib1g-dev"])]),
    .executableTarget(
      name: "strata-benchmarks",
      dependencies: [
        "CBenchmarkZlib",
        .product(name: "StrataCore", package: "Strata"), .product(name: "StrataLegacy", package: "Strata"),
        .product(name: "StrataStore", package: "Strata"), .product(name: "StrataRemote", package: "Strata"),
        .product(name: "FlyingFox", package: "FlyingFox"), .product(name: "FlyingSocks", package: "FlyingFox"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
      ],
      swiftSettings: features),
  ]
)
