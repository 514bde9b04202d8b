internal import StrataCore

// Creates the values of collections and objects whose children have all been decoded.

extension KeyedReader {
  mutating func finish(_ frame: inout Frame) throws -> Made {
    var made = Made(value: .null, size: frame.size, height: frame.height + 1, bytes: frame.bytes)
    switch frame.container {
    case .record(let plan):
      let values = isLenient ? frame.values : []
      var record: ModelRecord
      do { record = try self.record(&frame, plan) } catch {
        try note(error, of: frame.identity)
        record = ModelRecord(
          shape: RecordShape(typeName: plan.type.name, modelVersion: nil, keys: plan.keys), values: values)
      }
      made.value = .record(record)
    case .top, .array: made.value = .array(frame.values)
    case .set: made.value = .set(try digests.unique(frame.values))
    case .object(let layout): made.value = .object(object(frame, layout))
    case .foundation(.data, let layout) where nested != nil && openedArchive(in: frame, layout) != nil:
      made.value = openedArchive(in: frame, layout) ?? .null
      made.height = frame.height
    case .foundation(let foundation, let layout):
      do { made.value = try foundation.decode(KeyedFields(keys: layout.keys, values: frame.values), digests) } catch {
        try note(error, of: frame.identity)
        made.value = .record(
          ModelRecord(
            shape: RecordShape(typeName: try className(of: frame), modelVersion: nil, keys: layout.keys),
            values: frame.values))
      }
      if foundation.isCollection { made.height = frame.height } else { made.size = 1 }
    }
    if frame.indices >= 0 { indexCount = frame.indices }
    let number = Int(marks[frame.identity].number)
    if number >= 0 {
      contents.objects[number] = made.value
      return Made(value: .reference(number))
    }
    try keepIfRepeated(made, at: frame.identity, count: frame.count)
    return made
  }

  /// Returns the value of a nested archive, if the frame is a data object that was opened as a nested archive;
  /// otherwise `nil`.
  private func openedArchive(in frame: Frame, _ layout: KeyedLayout) -> ArchiveValue? {
    guard let index = layout.keys.firstIndex(where: { $0 == "NS.data" || $0 == "NS.bytes" }) else { return nil }
    if case .data = frame.values[index] { return nil }
    return frame.values[index]
  }

  /// Returns the entries of a dictionary in the dictionary's own order, which can differ from the order of the layout's
  /// keys.
  private func object(_ frame: Frame, _ layout: KeyedLayout) -> ArchiveObject {
    var own = indices[frame.indices..<frame.indices + frame.count]
    // An object with an unreadable class still has the key `$class`, which is not one of its fields.
    if frame.classEntry >= 0 { own.removeAll { $0 < 0 } }
    return ArchiveObject(
      uniqueEntries: own.map { index in
        ArchiveObject.Entry(key: layout.keys[Int(index)], value: frame.values[Int(index)])
      })
  }

  private mutating func record(_ frame: inout Frame, _ plan: KeyedLayout.Plan) throws -> ModelRecord {
    if let shape = plan.shape, plan.keepsFields {
      let version = plan.versionIndex.map { frame.values[$0].intValue }
      if version == .none || version == .some(shape.modelVersion) {
        if let index = plan.versionIndex { frame.values.remove(at: index) }
        var record = ModelRecord(shape: shape, values: [])
        swap(&record.values, &frame.values)
        return record
      }
    }
    return try recordOfNewShape(&frame, plan)
  }

  /// Returns the record of a frame. This slower method is used if the plan's latest record has a different shape.
  private mutating func recordOfNewShape(_ frame: inout Frame, _ plan: KeyedLayout.Plan) throws -> ModelRecord {
    var fields = KeyedFields(keys: plan.keys, values: [])
    swap(&fields.values, &frame.values)
    var versionIndex = plan.versionIndex
    if !plan.keepsFields {
      frame.values = fields.values
      fields = try FoundationRecord.fields(of: plan.type.name, fields, budget)
      versionIndex = fields.keys.firstIndex(of: KeyedLayout.versionKey)
    }
    var version: Int?
    if let index = versionIndex {
      guard let found = fields.values.remove(at: index).intValue, found >= 0 else {
        throw ArchiveError(
          .damaged, "a model version must be a nonnegative integer", path: [.key(KeyedLayout.versionKey)],
          typeName: plan.type.name)
      }
      version = found
    }
    let names = fields.keys
    if let index = versionIndex { fields.keys.remove(at: index) }
    if let shape = plan.shape, shape.modelVersion == version, shape.keys == fields.keys {
      return ModelRecord(shape: shape, values: fields.values)
    }
    if plan.keepsFields {
      frame.values = fields.values
      if let index = versionIndex { frame.values.insert(0, at: index) }
    }
    note(plan, frame, names)
    let shape = RecordShape(typeName: plan.type.name, modelVersion: version, keys: fields.keys)
    plan.shape = shape
    return ModelRecord(shape: shape, values: fields.values)
  }

  /// Remembers how an object's fields are encoded, so that the fields can be written in the same way again. The
  /// encoding is the same for all objects with the same shape.
  ///
  /// - Parameter names: the names of all fields, including the field for the model version.
  private mutating func note(_ plan: KeyedLayout.Plan, _ frame: Frame, _ names: [String]) {
    let typeName = plan.type.name
    // Encodings are remembered for a limited number of classes, because hostile data can contain any number of classes.
    guard contents.encodings.count < 4096 || contents.encodings[typeName] != nil else { return }
    var areInlined = [Bool?](repeating: nil, count: plan.keys.count)
    for entry in 0..<frame.count where entry != frame.classEntry {
      let index = Int(indices[frame.indices + entry])
      guard !frame.values[index].isNull else { continue }
      areInlined[index] = table.isInlined(
        table.list.reference(at: frame.children + entry * table.list.referenceSize))
    }
    contents.encodings[typeName, default: KeyedEncoding()].note(
      FoundationRecord.parts(of: typeName).contains(where: names.contains) ? plan.keys : names, plan.rawKeys,
      areInlined: areInlined)
  }
}
