import SwiftDiagnostics
import SwiftSyntax

/// Finds what the `CodingKeys` of a type say and `@Model` does otherwise: they are for Codable alone.
///
/// What a property says with `@Field` is known to its author, so there is nothing to tell.
enum CodingKeysCheck {
  static func diagnostics(_ members: MemberBlockItemListSyntax, _ properties: [StoredProperty]) -> [Diagnostic] {
    let keys = members.lazy.compactMap { $0.decl.as(EnumDeclSyntax.self) }.first { $0.name.text == "CodingKeys" }
    guard let keys else { return [] }
    let cases = keys.memberBlock.members.compactMap { $0.decl.as(EnumCaseDeclSyntax.self) }.flatMap(\.elements)
    return properties.compactMap { property in
      guard property.role == .field, property.attribute.json == nil else { return nil }
      guard let element = cases.first(where: { $0.name.text.withoutBackticks == property.key }) else {
        if property.attribute.hasArchive { return nil }
        return ModelDiagnostic.noCodingKey(property.key).at(property.name)
      }
      guard let key = element.rawValue?.value.trimmed,
        key.as(StringLiteralExprSyntax.self)?.plainText != property.key
      else { return nil }
      return ModelDiagnostic.codingKey(property: property.key, key: key.description).at(element)
    }
  }
}
