internal import StrataServer

@main
enum Main {
  static func main() { StrataServe.main() }
}
