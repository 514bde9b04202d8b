import SwiftSyntax
import SwiftSyntaxMacros

/// A position in the source file. Generated code contains such positions, so that the compiler reports errors in the
/// code at the declaration for which the code was generated.
struct SourcePlace {
  /// The path of the file, as a string literal.
  fileprivate let file: String
  fileprivate let line: Int

  /// The `#sourceLocation` directive that gives this position to the next line of the generated code.
  private var directive: String { "\(Self.start)file: \(file), line: \(line))" }

  private static let start = "#sourceLocation("

  /// Returns the statements with directives for their positions in the source. A statement needs no directive if its
  /// position is the line after the position of the previous statement.
  static func lines(_ statements: some Sequence<(place: SourcePlace?, lines: [String])>) -> [String] {
    var result: [String] = []
    var next: Int?
    for (place, lines) in statements {
      if let place, place.line != next {
        result.append(place.directive)
        next = place.line
      }
      // The lines for one position are joined into a single line, because the compiler would otherwise count them as
      // consecutive source lines.
      let lines = place == nil ? lines : [lines.joined(separator: "; ")]
      result += lines
      next = next.map { $0 + lines.count }
    }
    return result
  }

  /// Returns the statements of a function. If they contain directives, a final directive is added, so that the
  /// positions do not apply to the code after the function.
  static func ended(_ lines: [String]) -> [String] {
    lines.contains { $0.drop { $0 == " " }.hasPrefix(start) } ? lines + [start + ")"] : lines
  }
}

/// The line numbers inside a declaration. The macro requests only the position of the declaration from the compiler,
/// because each request is slow. All other positions are computed from the line breaks.
struct SourceLines {
  private let first: SourcePlace
  /// The offsets of the line breaks inside the declaration, in UTF-8 bytes from its start.
  private let starts: [Int]

  /// Finds the line breaks of a declaration. Returns `nil` if the compiler does not provide the position of the
  /// declaration.
  init?(of declaration: some DeclGroupSyntax, in context: some MacroExpansionContext) {
    guard let place = context.location(of: declaration, at: .afterLeadingTrivia, filePathMode: .filePath),
      let line = Int(place.line.description)
    else { return nil }
    let file = place.file.description
    // A file path that is not a plain string literal cannot be used, because `#sourceLocation` does not accept it.
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
