package import StrataCore
package import Testing

/// The archive error that `body` throws, or `nil` if it throws nothing. Any other error is recorded as a failure.
package func archiveError<R>(
  sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> R
) -> ArchiveError? {
  do {
    _ = try body()
    return nil
  } catch let error as ArchiveError { return error } catch {
    Issue.record(error, sourceLocation: sourceLocation)
    return nil
  }
}

/// Returns the archive error that `body` throws. Records a failure unless the error has the given code.
@discardableResult
package func archiveError<R>(
  _ code: ArchiveError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> R
) -> ArchiveError? {
  let error = archiveError(sourceLocation: sourceLocation, body)
  #expect(error?.code == code, "\(error?.description ?? "no error")", sourceLocation: sourceLocation)
  return error
}
