extension ModelSchema {
  /// Returns all errors in a document, combined into one error; `nil` if there are none. The errors already in `slots` and those from
  /// decoding the other fields are combined in the order of the schema.
  func errors(of slots: JSONSlots, _ plan: JSONPlan, in context: DecodingContext) -> ArchiveError? {
    var errors = slots.errors
    let failed = Set(slots.errors.map(\.place))
    for (place, field) in fields.enumerated() where !failed.contains(place) && slots.made[place] == nil {
      do { try field.check(slots.values[place], in: context) } catch {
        errors.append((place, plan.locate(error, place, input: slots.values[place])))
      }
    }
    errors.sort { $0.place < $1.place }
    return ArchiveError.combined(errors.map(\.error))
  }
}

extension FieldInfo {
  /// Throws the error that decoding the field from a value would throw.
  func check(_ value: ArchiveValue?, in context: DecodingContext) throws {
    guard let value else {
      guard !isOptional else { return }
      throw ArchiveError(
        .missingValue,
        "the key is missing; give the field a default, or change its JSON path with @Field(json:) or CodingKeys")
    }
    do { try ValueCoding.check(value, as: type, in: context) } catch let error as ArchiveError
      where acceptsUnknownCase(error)
    {}
  }
}
