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

/// What `@Model` makes a class that may have subclasses conform to: by it the macro sees at a subclass that its superclass is a model.
public protocol _StrataBaseClass {}

/// What generated code refuses. The compiler's error holds the name, and so that is what the error has to say.
public enum _Strata {
  /// A class that nothing is a subclass of. `@Model` writes what a class inherits from first together with this, `Name & …`, which means
  /// something where that is a protocol, and is refused where it is a class.
  public final class
    `any superclass that is no model; write @Model(version: …, superclass: .excluded) to leave its properties out`
  {}
}
