internal import Foundation
internal import StrataCore

/// The records that are served where no folder is named.
///
/// They are those of Fixtures/remote, which a test compares with them: the program runs where the repository is not.
enum ServeFixtures {
  /// The text of each list, by its name.
  static let lists = [(name: "projects", text: projects), (name: "tasks", text: tasks)]

  /// The lists of records, which last changed at a time.
  static func made(_ modified: Date) throws -> [ResourceList] {
    try lists.map { list in
      let values = try JSONReader().read(Data(list.text.utf8)).arrayValue ?? []
      return try ResourceList(name: list.name, values: values, modified: modified)
    }
  }

  private static let projects = """
    [
      {
        "id": "p1",
        "name": "Kitchen",
        "color": "orange",
        "archived": false,
        "budget": 12500.5,
        "created_at": "2026-03-02T09:00:00Z"
      },
      {
        "id": "p2",
        "name": "Garden",
        "color": "green",
        "archived": false,
        "budget": null,
        "created_at": "2026-04-18T16:45:00Z"
      }
    ]

    """

  private static let tasks = """
    [
      {
        "id": "t1",
        "title": "Measure the walls",
        "done": true,
        "notes": "Twice, before anything is ordered.",
        "project_id": "p1",
        "tags": ["planning"],
        "due": "2026-03-06",
        "assignee": {"id": "u1", "name": "Ada"},
        "updated_at": "2026-03-06T17:20:11Z"
      },
      {
        "id": "t2",
        "title": "Choose the tiles",
        "done": false,
        "notes": null,
        "project_id": "p1",
        "tags": ["planning", "shopping"],
        "due": "2026-03-20",
        "assignee": {"id": "u2", "name": "Grace"},
        "updated_at": "2026-03-09T08:03:17Z"
      },
      {
        "id": "t3",
        "title": "Order the sink",
        "done": false,
        "notes": "The wide one.",
        "project_id": "p1",
        "tags": ["shopping"],
        "due": "2026-04-01",
        "assignee": {"id": "u1", "name": "Ada"},
        "updated_at": "2026-03-09T08:10:42Z"
      },
      {
        "id": "t4",
        "title": "Plant the apple tree",
        "done": false,
        "notes": null,
        "project_id": "p2",
        "tags": [],
        "due": "2026-10-31",
        "assignee": {"id": "u2", "name": "Grace"},
        "updated_at": "2026-04-18T16:50:00Z"
      },
      {
        "id": "t5",
        "title": "Sharpen the saw",
        "done": false,
        "notes": "Before the tree.",
        "project_id": "p2",
        "tags": ["tools"],
        "due": null,
        "assignee": null,
        "updated_at": "2026-04-19T07:30:00Z"
      }
    ]

    """
}
