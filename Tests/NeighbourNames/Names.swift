// Types with the same names as types in libraries that apps import alongside Strata. A file that imports both this module and Strata must
// be able to name either type.

// GRDB
open class Record { public init() {} }
public struct Row { public init() {} }
public struct Column { public init() {} }
public struct Table<T> { public init() {} }
public struct Configuration { public init() {} }
public final class Database { public init() {} }
public protocol Association {}

// Fluent
public protocol Fields {}
public protocol Model: Fields {}
public protocol Migration {}
public struct Migrations { public init() {} }

// SwiftData
public final class Schema { public init() {} }
public protocol PersistentModel {}

// RealmSwift
open class Object { public init() {} }

// Other libraries, and apps
public struct Value { public init() {} }
public struct Check { public init() {} }
public struct Conversion { public init() {} }
