extension Array where Element == UInt8 {
  /// The bytes, borrowed while the array does not change.
  ///
  /// `Array.span` needs macOS 26 and iOS 26, because arrays of objects may be Objective-C arrays there. An array of
  /// bytes is contiguous everywhere.
  @inlinable
  package var bytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      let bytes = withUnsafeBytes { $0 }
      return _overrideLifetime(RawSpan(_unsafeBytes: bytes), borrowing: self)
    }
  }
}
