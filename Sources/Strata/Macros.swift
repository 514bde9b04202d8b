#if Macros
  /// Makes a struct, a class or an enum archivable: a record of its stored properties, stamped with a name and a
  /// model version.
  ///
  ///     @Model(version: 2)
  ///     struct Issue {
  ///       let id: Int
  ///       @Field(formerly: "headline") var title: String
  ///       @Field(unknown: .useDefault) var state = State.open
  ///       @Field(archive: .excluded) var retrievedAt = Date.now
  ///     }
  ///
  ///     let data = try ArchiveEncoder().encode(issue)
  ///     let copy = try ArchiveDecoder().decode(Issue.self, from: data)
  ///
  /// Every stored property is a field under its own name, in the order of declaration. A property with an initial value
  /// takes it where the key is absent, an optional is nil there; without either, the key must be there. Computed and
  /// static properties are not archived. A property of type `UnknownFields` is no field: it keeps the keys that the
  /// model does not declare.
  ///
  /// A struct or a class that is `Codable` as well declares its JSON keys once. The raw value of a case of `CodingKeys` is the JSON key of
  /// the property, and a property without a case is not in JSON. `@Field(json:)` wins. `CodingKeys` must be in the declaration: the macro
  /// does not see extensions. Archives do not depend on `CodingKeys`.
  ///
  /// A struct keeps its memberwise initializer, and a class whose properties all have initial values its `init()`.
  /// Members are as visible as the type; a public model needs `public import Strata` where imports are internal.
  ///
  /// Objects keep their identity: several fields may refer to one, and references may lead in cycles. A weak reference is
  /// archived only where something else in the archive writes its object. A class that is not final may have subclasses
  /// with `superclass:`; it gets a required `init(fields:)`.
  ///
  /// Archives are read and written on any thread, so a model belongs to no actor: in a module that isolates to the main
  /// actor by default, write `nonisolated struct`.
  ///
  /// A generic model has one registered name for each set of arguments: `Box<Int>`. A constraint to `Archivable`
  /// gives registered names of models inside, any other the names of the Swift types.
  /// A model in an extension of a generic type has the arguments in its name as well, `Box<Int>.Item`, by the names of the Swift types.
  ///
  /// On an enum each case is archived by name, with its associated values under their labels, or `_0`, `_1` where they
  /// have none. An enum with raw values needs no macro: `enum State: String, Archivable`.
  ///
  /// - Parameters:
  ///   - version: what archives are stamped with. Raise it when the fields change, and add a step (see `Migratable`).
  ///   - name: the registered name: the type's own, after those of the types around it, unless set. It must stay when
  ///     the type is renamed.
  ///   - formerNames: names that the type had before; archives with them are read.
  @attached(
    member, conformances: VersionedModel, _StrataBaseClass, names: named(schema), prefixed(_schemaOf),
    prefixed(_rootOf),
    named(init()),
    named(init(fields:)), named(encodeFields(to:)), named(readField(_:from:)), named(adoptFields(of:)),
    named(adoptObject(_:)), named(archivedUnknownFields))
  @attached(
    extension, conformances: VersionedModel, _StrataBaseClass, names: named(init(fields:)), named(encodeFields(to:)),
    named(archivedUnknownFields), named(adoptFields(of:)), named(make(case:payload:)))
  public macro Model(version: Int, name: String? = nil, formerNames: [String] = []) =
    #externalMacro(module: "StrataMacros", type: "ModelMacro")

  /// Makes a class archivable whose superclass is no model, and leaves the properties of that out.
  ///
  ///     @Model(version: 1, superclass: .excluded)
  ///     final class Download: Operation {
  ///       var address = ""
  ///     }
  ///
  /// Archives, JSON, copies and merges have the properties that the class declares itself. An object that is decoded has those of the
  /// superclass as its `init()` sets them; where the superclass has none without arguments, the class writes `init(fields:)` itself.
  ///
  /// - Parameters:
  ///   - version: what the fields of this class are stamped with.
  ///   - name: the registered name: the class's own, after those of the types around it, unless set.
  ///   - formerNames: names that the class had before; archives with them are read.
  ///   - superclass: `.excluded`. `NSObject` has no properties, and needs no argument.
  @attached(
    member, conformances: VersionedModel, _StrataBaseClass, names: named(schema), prefixed(_schemaOf),
    prefixed(_rootOf),
    named(init()),
    named(init(fields:)), named(encodeFields(to:)), named(readField(_:from:)), named(adoptFields(of:)),
    named(adoptObject(_:)), named(archivedUnknownFields))
  @attached(
    extension, conformances: VersionedModel, _StrataBaseClass, names: named(init(fields:)), named(encodeFields(to:)),
    named(archivedUnknownFields), named(adoptFields(of:)))
  public macro Model(version: Int, name: String? = nil, formerNames: [String] = [], superclass: SuperclassBehavior) =
    #externalMacro(module: "StrataMacros", type: "ModelMacro")

  /// Makes a subclass of a model archivable: its fields are archived with those of the superclass, and the version of
  /// each class with them, so that each is upgraded by its own steps.
  ///
  ///     @Model(version: 2, superclass: Animal.self)
  ///     final class Dog: Animal {
  ///       var breed = ""
  ///     }
  ///
  /// The superclass is not final and has `@Model` itself. The macro adds `init(fields:)`, so a subclass does not inherit
  /// initializers; write those that you need. Where an object of a superclass is expected, a decoder must be told which
  /// subclasses may come: `ArchiveDecoder(subclasses: [Dog.self])`, or once for all with `ModelHierarchy`.
  ///
  /// - Parameters:
  ///   - version: what the fields of this class are stamped with.
  ///   - name: the registered name: the class's own, after those of the types around it, unless set.
  ///   - formerNames: names that the class had before; archives with them are read.
  ///   - superclass: the superclass: `Animal.self`.
  @attached(
    member, names: named(schema), prefixed(_schemaOf), named(init(fields:)), named(encodeFields(to:)),
    named(readField(_:from:)), named(adoptObject(_:)), named(archivedUnknownFields))
  public macro Model(
    version: Int, name: String? = nil, formerNames: [String] = [], superclass: any VersionedModel.Type
  ) =
    #externalMacro(module: "StrataMacros", type: "SubmodelMacro")

  /// Says how one property of a ``Model(version:name:formerNames:)`` is archived, merged and found in JSON.
  ///
  ///     @Field(formerly: "headline", merge: .serverWins.ifPresent, json: "content.title") var title: String?
  ///
  /// On a case of an enum only `formerly` has a meaning.
  ///
  /// - Parameters:
  ///   - archive: `.excluded` leaves the property out of archives. It then needs an initial value or must be an optional.
  ///     Lazy properties, unowned references, weak ones to what is no model, functions and tuples are possible only so,
  ///     and merging leaves them alone.
  ///   - storage: `.transitory` leaves the field out of equality, hash and description where these are made of fields (see
  ///     `FieldEquatable`). `.none` leaves the property out of everything: it then needs an initial value or must be an
  ///     optional variable.
  ///   - formerly: keys that the field, or names that the case, had before.
  ///   - merge: what `mergeValues(from:)` does with the field.
  ///   - json: where JSON holds the field, `"user.login"`, or how: see `JSONField`. Without it, the field is under the key in
  ///     `CodingKeys`, or under its own name if there are none.
  ///   - unknown: `.useDefault` takes the initial value, or nil, for an enum case that this program does not know; a merge
  ///     leaves the property as it is.
  @attached(peer)
  public macro Field(
    archive: ArchiveBehavior = .always, storage: StorageBehavior = .permanent, formerly: String...,
    merge: MergePolicy = .automatic, json: JSONField = .automatic,
    unknown: UnknownCasePolicy = .fail
  ) = #externalMacro(module: "StrataMacros", type: "FieldMacro")
#endif
