import Foundation
import StrataCore
import Testing

/// The tests are serialized, because all of them replace the declaration of one type.
@Suite(.serialized) enum ProbeTests {}

/// A model whose declaration a test replaces, as a commit to an app would.
struct Probe: VersionedModel, Migratable {
  struct Declaration: Sendable {
    var version = 1
    var name = "Issue"
    var formerNames: [String] = []
    var fields: [FieldInfo]
    var keepsUnknownFields = false
    var oldestReader: Int?
    var steps: [MigrationStep] = []
  }

  private static let state = Mutex<(declaration: Declaration, schema: ModelSchema?)>((Declaration(fields: []), nil))

  static var migration: MigrationPlan { MigrationPlan(state.withLock { $0.declaration.steps }) }

  static var schema: ModelSchema {
    if let known = state.withLock({ $0.schema }) { return known }
    let declaration = state.withLock { $0.declaration }
    let schema = ModelSchema(
      Probe.self, name: declaration.name, formerNames: declaration.formerNames, version: declaration.version,
      fields: declaration.fields, keepsUnknownFields: declaration.keepsUnknownFields,
      oldestReader: declaration.oldestReader)
    return state.withLock {
      if $0.schema == nil { $0.schema = schema }
      return $0.schema ?? schema
    }
  }

  /// Replaces the declaration.
  static func declare(_ declaration: Declaration) { state.withLock { $0 = (declaration, nil) } }

  private var values: [any Archivable] = []

  init(fields reader: inout ArchiveReader) throws {
    for (place, field) in Self.schema.fields.enumerated() {
      func read<T: Archivable>(_ type: T.Type) throws -> T {
        field.archive == .excluded
          ? try reader.excludedField(place, default: try Self.schema.initialValue(place))
          : try reader.field(place, default: try Self.schema.initialValue(place))
      }
      guard let type = field.type as? any Archivable.Type else { throw ArchiveError(.rejected, "an untyped field") }
      values.append(try read(type))
    }
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    for (place, value) in values.enumerated() {
      func write<T: Archivable>(_ value: T) throws {
        if Self.schema.fields[place].archive == .excluded {
          try writer.excludedField(place, value)
        } else {
          try writer.field(place, value)
        }
      }
      try write(value)
    }
  }
}
