import Testing

/// Runs the commands of the built executable in processes, as a shell does.
@Suite("The executable, end to end")
enum EndToEnd {}
