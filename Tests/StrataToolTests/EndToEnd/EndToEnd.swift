import Testing

/// The commands of the built executable, run in processes as a shell runs them.
@Suite("The executable, end to end")
enum EndToEnd {}
