extension Array where Element == UInt8 {
  /// A span of the bytes, valid as long as the array does not change.
  ///
  /// Used instead of `Array.span`, which needs macOS 26 and iOS 26. An array of bytes is contiguous on all systems.
  @inlinable
  package var bytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      let bytes = withUnsafeBytes { $0 }
      return _overrideLifetime(RawSpan(_unsafeBytes: bytes), borrowing: self)
    }
  }
}
