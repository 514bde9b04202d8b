internal import StrataCore

extension Stamp {
  /// `Issue@3`
  var mark: String { modelVersion.map { "\(typeName)@\($0)" } ?? typeName }
}
