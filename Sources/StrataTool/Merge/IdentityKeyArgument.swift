internal import ArgumentParser
internal import StrataCore

extension IdentityKey {
  /// - Throws: `ValidationError` for an empty key.
  static func parse(_ argument: String) throws -> IdentityKey {
    guard let key = IdentityKey(parsing: argument) else {
      throw ValidationError("--by needs a key, or keys with + between them.")
    }
    return key
  }
}
