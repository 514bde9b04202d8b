import SwiftDiagnostics
import SwiftSyntax

/// An enum case with its associated values.
struct EnumCase {
  /// The name of the case as written, including backticks.
  let name: TokenSyntax
  /// For each associated value: its key in archives, and its label in code, which is `nil` if the value has no label.
  let values: [(key: String, label: String?)]
  let formerly: [ExprSyntax]
  /// The types of the associated values, as written in the source.
  let types: [String]
  let isDeprecated: Bool
  let place: SourcePlace?

  var key: String { name.text.withoutBackticks }

  var info: String {
    let former = formerly.map(\.description).joined(separator: ", ")
    let payload = types.map { "(\($0)).self" }.joined(separator: ", ")
    let labels = values.map(\.key.literal).joined(separator: ", ")
    return "_StrataCase(\(key.literal)\(formerly.isEmpty ? "" : ", formerly: [\(former)]")"
      + (types.isEmpty ? "" : ", payload: [\(payload)]") + ", labels: [\(labels)])"
  }

  var writing: [String] {
    let names = values.indices.map { "let a\($0)" }.joined(separator: ", ")
    let statements =
      ["try writer.beginCase(Self.schema, \(key.literal), count: \(values.count))"]
      + values.enumerated().map { "try writer.payload(\($1.key.literal), a\($0))" }
    return ["case .\(name.text)\(values.isEmpty ? "" : "(\(names))"):"] + located(statements)
  }

  /// The statements that create the case from an archive. The case is first assigned to a constant of type `Self`. If
  /// it were returned directly, `.none` and `.some` would mean the cases of `Optional`, because the result is an
  /// optional.
  var making: [String] {
    let arguments = values.map { value in
      (value.label.map { "\(Self.argumentLabel($0)): " } ?? "") + "try payload.value(\(value.key.literal))"
    }
    let call = values.isEmpty ? "" : "(\(arguments.joined(separator: ", ")))"
    return ["case \(key.literal):"] + located(["let made: Self = .\(name.text)\(call)", "return made"])
  }

  /// Adds `#sourceLocation` directives, so that the compiler reports errors about an associated value at the case in
  /// the source.
  private func located(_ statements: [String]) -> [String] {
    let statements = values.isEmpty ? statements : SourcePlace.lines([(place, statements)])
    return statements.map { "  " + $0 }
  }

  /// Returns the label of an associated value as it is written in a call, where only a few keywords need backticks.
  private static func argumentLabel(_ label: String) -> String {
    let plain = label.withoutBackticks
    let isWord = plain.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    return isWord && !["inout", "let", "var"].contains(plain) ? plain : label
  }

  static func cases(
    of declaration: EnumDeclSyntax, _ lines: SourceLines?, _ diagnostics: inout [Diagnostic]
  ) -> [EnumCase] {
    var result: [EnumCase] = []
    for (member, isConditional) in declaration.memberBlock.members.withConditions {
      guard let line = member.as(EnumCaseDeclSyntax.self) else { continue }
      if isConditional {
        diagnostics.append(ModelDiagnostic.conditionalCase.at(line))
        continue
      }
      let attribute = FieldAttribute(line.attributes, &diagnostics)
      for element in line.elements {
        let parameters = element.parameterClause.map { Array($0.parameters) } ?? []
        let values = parameters.enumerated().map { index, parameter in
          let label = parameter.firstName.flatMap { $0.text == "_" ? nil : $0.text }
          return (key: label?.withoutBackticks ?? "_\(index)", label: label)
        }
        if result.contains(where: { $0.key == element.name.text.withoutBackticks }) {
          diagnostics.append(ModelDiagnostic.sameCase(element.name.text.withoutBackticks).at(element.name))
        }
        if element.name.text.withoutBackticks == "schema" {
          diagnostics.append(ModelDiagnostic.takenName("schema").at(element.name))
        }
        for parameter in parameters {
          guard let kind = parameter.type.shapeWithoutArchive else { continue }
          let name = element.name.text.withoutBackticks
          diagnostics.append(ModelDiagnostic.payloadNotArchivable(kind: kind, name: name).at(parameter.type))
        }
        result.append(
          EnumCase(
            name: element.name.trimmed, values: values, formerly: attribute.formerly,
            types: parameters.map { $0.type.trimmedDescription }, isDeprecated: line.attributes.containDeprecation,
            place: lines?.place(of: element)))
      }
    }
    return result
  }
}
