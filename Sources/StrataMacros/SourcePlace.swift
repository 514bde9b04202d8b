import SwiftSyntax
import SwiftSyntaxMacros

/// Where something stands in the file of its author: what the compiler says about the code that is made of it is shown there.
struct SourcePlace {
  /// The path, as a literal.
  fileprivate let file: String
  fileprivate let line: Int

  /// The statement after which the next line counts as this one.
  private var directive: String { "\(Self.start)file: \(file), line: \(line))" }

  private static let start = "#sourceLocation("

  /// Statements about things of these places, with what makes the compiler count so; lines follow each other by themselves.
  static func lines(_ statements: some Sequence<(place: SourcePlace?, lines: [String])>) -> [String] {
    var result: [String] = []
    var next: Int?
    for (place, lines) in statements {
      if let place, place.line != next {
        result.append(place.directive)
        next = place.line
      }
      // All of them are about that one line.
      let lines = place == nil ? lines : [lines.joined(separator: "; ")]
      result += lines
      next = next.map { $0 + lines.count }
    }
    return result
  }

  /// The statements of a function; where some count as lines of the author, those after them do not.
  static func ended(_ lines: [String]) -> [String] {
    lines.contains { $0.drop { $0 == " " }.hasPrefix(start) } ? lines + [start + ")"] : lines
  }
}

/// The lines of a declaration. The macro is asked for the place of one thing, since each answer takes long.
struct SourceLines {
  private let first: SourcePlace
  /// Where the lines after the first begin.
  private let starts: [Int]

  /// `nil` where the place is not known.
  init?(of declaration: some DeclGroupSyntax, in context: some MacroExpansionContext) {
    guard let place = context.location(of: declaration, at: .afterLeadingTrivia, filePathMode: .filePath),
      let line = Int(place.line.description)
    else { return nil }
    let file = place.file.description
    // The directive takes no literal but a plain one.
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
