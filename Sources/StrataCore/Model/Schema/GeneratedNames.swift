// The names by which `@Model` refers to the library. Types of an app may be called ModelSchema or ArchiveReader, and then those are what a
// plain name in the app's module means; nobody's are called like these.

public typealias _StrataModel = VersionedModel
public typealias _StrataSchema = ModelSchema
public typealias _StrataField = FieldInfo
public typealias _StrataCase = ModelSchema.CaseInfo
public typealias _StrataReader = ArchiveReader
public typealias _StrataWriter = ArchiveWriter
public typealias _StrataPayload = CasePayload
public typealias _StrataUnknownFields = UnknownFields
