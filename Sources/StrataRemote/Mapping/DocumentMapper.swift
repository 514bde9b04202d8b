internal import StrataCore
internal import StrataStore

/// What a mapper knows of documents: where they have their ids.
struct DocumentMapper: EntityMapperBox {
  let name: String
  /// Where JSON has the id; `nil` where each document tells.
  let id: ValuePath?

  func number(in catalog: EntityCatalog) -> Int? { catalog.number(ofDocuments: name) }

  func adapter(of number: Int, with others: [any EntityMapperBox]) throws -> any EntityAdapter {
    DocumentAdapter(mapper: self, number: number)
  }

  func extended<Root>(_ adapter: JSONAdapter<Root>) -> JSONAdapter<Root> { adapter }

  /// Where a document has its id; `nil` where it has none.
  func place(of document: ArchiveValue) -> ValuePath? {
    let paths: [ValuePath] = id.map { [$0] } ?? ["id", "_id", "identifier", "url", "URL"]
    return paths.first { !(document[$0]?.isNull ?? true) }
  }
}

/// Documents as the records of a table: the id beside the whole.
struct DocumentAdapter: EntityAdapter {
  let mapper: DocumentMapper
  /// The entity in the catalog of the store.
  let number: Int

  func nodes(of records: ArchiveValue, in catalog: EntityCatalog) throws -> EntityNodes {
    let rows = try (records.arrayValue ?? [records]).enumerated().map { place, document in
      guard case .object = document else {
        throw RemoteError(
          .invalidBody, "record \(place) is \(document.kind); an object is expected", entity: mapper.name)
      }
      var row = ArchiveObject([.init(key: "value", value: document)])
      row["id"] = try id(of: document).map { .string($0) }
      return ArchiveValue.object(row)
    }
    return try EntityNodes(.json(.array(rows)), of: EntityDocument.self, as: number, in: catalog)
  }

  private func id(of document: ArchiveValue) throws -> String? {
    guard let path = mapper.place(of: document), let id = document[path] else { return nil }
    switch id {
    case .string(let text): return text
    case .int(let number): return String(number)
    case .uint(let number): return String(number)
    default:
      throw RemoteError(
        .invalidBody, "the id under \(path) is \(id.kind); text or a whole number is expected", entity: mapper.name)
    }
  }

  /// A document without its id, which has a place of its own: in the path, or, where it is asked for, by itself.
  func json(of record: ModelRecord, fields: Set<String>) throws -> ArchiveValue {
    var document = record["value"] ?? [:]
    let place = mapper.place(of: document)
    if fields.contains("id") {
      let path = place ?? mapper.id ?? "id"
      let known = place.flatMap { document[$0] }
      var body: ArchiveValue = fields.contains("value") ? document : [:]
      try body.set(known ?? record["id"], at: path)
      return body
    }
    if let place { try document.set(nil, at: place) }
    return fields.contains("value") ? document : [:]
  }

  func places(ofField key: String) -> (read: [JSONPath], written: [JSONPath])? {
    // The whole document has no path of its own; what matters is that it is read and written.
    let path = JSONPath((key == "id" ? mapper.id?.keys ?? ["id"] : [key]).map { .key($0) })
    return ([path], [path])
  }
}
