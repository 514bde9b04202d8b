internal import Foundation
internal import StrataTool

@main
enum Main {
  static func main() {
    exit(Tool.runProcess())
  }
}
