import SwiftSyntax
import SwiftSyntaxMacros

/// A position in the source file. The compiler reports errors in generated code at the position for which the code was
/// generated.
struct SourcePlace {
  /// The path of the file, as a string literal.
  fileprivate let file: String
  fileprivate let line: Int

  /// The directive that gives this position to the next line of the generated code.
  private var directive: String { "\(Self.start)file: \(file), line: \(line))" }

  private static let start = "#sourceLocation("

  /// Returns the statements with the directives for their positions. A statement needs no directive if its line
  /// directly follows the line of the previous statement.
  static func lines(_ statements: some Sequence<(place: SourcePlace?, lines: [String])>) -> [String] {
    var result: [String] = []
    var next: Int?
    for (place, lines) in statements {
      if let place, place.line != next {
        result.append(place.directive)
        next = place.line
      }
      // The lines are joined into one line, because all of them have the same position.
      let lines = place == nil ? lines : [lines.joined(separator: "; ")]
      result += lines
      next = next.map { $0 + lines.count }
    }
    return result
  }

  /// Returns the statements of a function. If they contain directives, a final directive ends their effect on the code
  /// after the function.
  static func ended(_ lines: [String]) -> [String] {
    lines.contains { $0.drop { $0 == " " }.hasPrefix(start) } ? lines + [start + ")"] : lines
  }
}

/// The line numbers of a declaration. The macro requests the position of only one node, because each request is slow.
/// It computes all other positions.
struct SourceLines {
  private let first: SourcePlace
  /// The UTF-8 offsets of the line breaks inside the declaration.
  private let starts: [Int]

  /// Returns `nil` if the position of the declaration is unknown.
  init?(of declaration: some DeclGroupSyntax, in context: some MacroExpansionContext) {
    guard let place = context.location(of: declaration, at: .afterLeadingTrivia, filePathMode: .filePath),
      let line = Int(place.line.description)
    else { return nil }
    let file = place.file.description
    // `#sourceLocation` accepts only a plain string literal.
    guard file.hasPrefix("\""), file != "\"\"" else { return nil }
    first = SourcePlace(file: file, line: line)
    let start = declaration.positionAfterSkippingLeadingTrivia.utf8Offset
    let end = declaration.endPosition.utf8Offset
    let root = declaration.root
    let offset = root.position.utf8Offset
    starts = root.syntaxTextBytes.withUnsafeBufferPointer { bytes in
      (start..<end).filter { bytes[$0 - offset] == UInt8(ascii: "\n") }
    }
  }

  func place(of node: some SyntaxProtocol) -> SourcePlace {
    let position = node.positionAfterSkippingLeadingTrivia.utf8Offset
    var (low, high) = (0, starts.count)
    while low < high {
      let middle = (low + high) / 2
      if starts[middle] < position { low = middle + 1 } else { high = middle }
    }
    return SourcePlace(file: first.file, line: first.line + low)
  }
}
