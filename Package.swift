// swift-tools-version: 6.2
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

let package = Package(
  name: "Strata",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    // Everything but the macro. Foundation and zlib only.
    .library(name: "StrataCore", targets: ["StrataCore"]),
  ],
  dependencies: [
  ],
  targets: [
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .target(name: "StrataCore", dependencies: ["CZlib"], swiftSettings: features + lifetimes),
    .testTarget(name: "StrataCoreTests", dependencies: ["StrataCore"], swiftSettings: features),
  ]
)
