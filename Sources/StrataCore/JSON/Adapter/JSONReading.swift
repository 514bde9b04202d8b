/// The options of an adapter for reading JSON. They also apply to nested models.
final class JSONReading: Sendable {
  /// The mappings that replace the models' own mappings. Each key is the identity of a model's schema.
  let plans: [ObjectIdentifier: JSONPlan]
  let unknownKeys: JSONUnknownKeys
  /// The limits on a JSON text.
  let limits: ArchiveLimits

  /// The options for reading without an adapter.
  static let standard = JSONReading(plans: [:], unknownKeys: .ignore)

  init(plans: [ObjectIdentifier: JSONPlan], unknownKeys: JSONUnknownKeys, limits: ArchiveLimits = ArchiveLimits()) {
    self.plans = plans
    self.limits = limits
    self.unknownKeys = unknownKeys
  }

  func plan(of schema: ModelSchema) -> JSONPlan {
    plans.isEmpty ? schema.jsonPlan : plans[ObjectIdentifier(schema)] ?? schema.jsonPlan
  }
}

extension DecodingContext {
  /// The options of an adapter for reading JSON.
  var json: JSONReading {
    get { options as? JSONReading ?? .standard }
    set { options = newValue }
  }

  /// Whether the fields of a model can be read directly from the text, without creating an ``ArchiveValue`` for the whole object.
  func readsDirectly(_ plan: JSONPlan) -> Bool {
    json.unknownKeys == .ignore && !collectsErrors && plan.problem == nil && plan.otherKeys != nil
  }
}

/// How keys of JSON that no field reads are handled.
public enum JSONUnknownKeys: String, Sendable, Hashable {
  /// The keys are skipped.
  case ignore
  /// If the model has ``UnknownFields``, that property stores the keys, and they are archived and written again. Members and elements that
  /// no field reads are stored in the same way if they are in an object or an array on the path of a field.
  case capture
  /// Reading throws an error with the code `unknownKey`.
  case refuse
}
