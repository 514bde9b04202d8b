internal import StrataTool

@main
enum Main {
  static func main() { Tool.main() }
}
