import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@testable import StrataMacros

let subclassSpecs: [String: MacroSpec] = ["Model": MacroSpec(type: SubmodelMacro.self)]

let specs: [String: MacroSpec] = [
  "Model": MacroSpec(type: ModelMacro.self, conformances: ["VersionedModel", "_StrataBaseClass"]),
  "Field": MacroSpec(type: FieldMacro.self),
]

/// Checks the expansion of a source and its diagnostics.
///
/// Returns the failures, because the macro library's own assertion is silent outside XCTest.
///
/// - Parameter fileName: the file of the source. Without one, its lines are unknown and omitted from the expansion.
func failures(
  _ source: String, _ expansion: String, _ diagnostics: [DiagnosticSpec] = [],
  _ specs: [String: MacroSpec] = specs, fileName: String = ""
) -> [TestFailureSpec] {
  var failures: [TestFailureSpec] = []
  assertMacroExpansion(
    source, expandedSource: expansion, diagnostics: diagnostics, macroSpecs: specs, testFileName: fileName,
    indentationWidth: .spaces(2),
    failureHandler: { failures.append($0) })
  return failures
}

func expectExpansion(
  _ source: String, _ expansion: String, _ diagnostics: [DiagnosticSpec] = [],
  specs: [String: MacroSpec] = specs, fileName: String = "",
  sourceLocation: Testing.SourceLocation = #_sourceLocation
) {
  for failure in failures(source, expansion, diagnostics, specs, fileName: fileName) {
    Issue.record(Comment(rawValue: failure.message), sourceLocation: sourceLocation)
  }
}
