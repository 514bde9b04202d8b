// The names by which `@Model` refers to the library. An app may have its own types called ModelSchema or ArchiveReader,
// and a plain name in the app's module would then refer to those. No app's types have the names below.

public typealias _StrataModel = VersionedModel
public typealias _StrataSchema = ModelSchema
public typealias _StrataField = FieldInfo
public typealias _StrataCase = ModelSchema.CaseInfo
public typealias _StrataReader = ArchiveReader
public typealias _StrataWriter = ArchiveWriter
public typealias _StrataPayload = CasePayload
public typealias _StrataUnknownFields = UnknownFields

/// `@Model` makes a class that may have subclasses conform to this, so that the macro recognizes in a subclass that its
/// superclass is a model.
public protocol _StrataBaseClass {}

/// Declarations that make generated code fail to compile. Their names appear in the compiler's error, so they are the message.
public enum _Strata {
  /// A class without subclasses. `@Model` writes the first inherited type of a class together with this, `Name & …`.
  /// That is valid if the type is a protocol, and an error if it is a class.
  public final class
    `any superclass that is no model; write @Model(version: …, superclass: .excluded) to leave its properties out`
  {}
}
