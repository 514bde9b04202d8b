extension Array where Element == UInt8 {
  /// The bytes, lent for as long as the array stays as it is.
  ///
  /// `Array.span` lends them as well, but only from macOS 26 and iOS 26 on, because arrays of objects may be arrays of
  /// Objective-C there. An array of bytes is one block of memory everywhere.
  @inlinable
  package var bytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      let bytes = withUnsafeBytes { $0 }
      return _overrideLifetime(RawSpan(_unsafeBytes: bytes), borrowing: self)
    }
  }
}
