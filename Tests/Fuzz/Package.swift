// swift-tools-version: 6.2
import PackageDescription

let features: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// Only a toolchain with libFuzzer can link these flags. Without them the program just runs the given files.
let isFuzzing = Context.environment["FUZZ"] != nil

let package = Package(
  name: "Fuzz",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Strata", path: "../..")],
  targets: [
    .executableTarget(
      name: "strata-fuzz",
      dependencies: [
        .product(name: "StrataCore", package: "Strata"), .product(name: "StrataLegacy", package: "Strata"),
      ],
      swiftSettings: features
        + (isFuzzing
          ? [.define("FUZZING"), .unsafeFlags(["-sanitize=fuzzer,address", "-parse-as-library"])]
          : [.unsafeFlags(["-parse-as-library"])]),
      linkerSettings: isFuzzing ? [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])] : [])
  ]
)
