internal import ArgumentParser
internal import StrataCore

/// An argument that should be the name of a command but is not.
struct UnknownCommand {
  let message: String

  /// - Returns: the first word that is not a command; `nil` if the arguments begin with a command or an option.
  static func find(in arguments: [String]) -> UnknownCommand? {
    var group: any ParsableCommand.Type = StrataCommand.self
    var path = "strata"
    for word in arguments {
      let commands = group.configuration.subcommands
      guard !commands.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
      if let next = commands.first(where: { $0.configuration.commandName == word }) {
        group = next
        path += " " + word
        continue
      }
      let names = commands.compactMap { $0.configuration.commandName }
      // If the word is a prefix of a name and has several letters, the distance is 0, so that this name is suggested
      // before any other.
      let near = names.map { (name: $0, distance: word.count > 1 && $0.hasPrefix(word) ? 0 : Self.distance(word, $0)) }
        .min { $0.distance < $1.distance }
      let unknown = word.cut(to: 40).onOneLine
      // A name is suggested if its distance from the word is at most a third of the name's length, or at most 1.
      if let near, near.distance <= max(near.name.count / 3, 1) {
        return UnknownCommand(
          message:
            "\(path) has no command “\(unknown)”; did you mean “\(near.name)”? Use \(path) --help to list the commands")
      }
      return UnknownCommand(message: "\(path) has no command “\(unknown)”; use \(path) --help to list the commands")
    }
    return nil
  }

  /// Returns the edit distance between two words, which is the number of letters to insert, delete, replace, or swap
  /// with a neighbour.
  static func distance(_ first: String, _ second: String) -> Int {
    let (first, second) = (Array(first), Array(second))
    var rows = [Array(0...second.count)]
    for i in first.indices {
      var row = [i + 1]
      for j in second.indices {
        let replaced = rows[i][j] + (first[i] == second[j] ? 0 : 1)
        var best = min(replaced, rows[i][j + 1] + 1, row[j] + 1)
        if i > 0, j > 0, first[i] == second[j - 1], first[i - 1] == second[j] {
          best = min(best, rows[i - 1][j - 1] + 1)
        }
        row.append(best)
      }
      rows.append(row)
    }
    return rows[first.count][second.count]
  }
}
