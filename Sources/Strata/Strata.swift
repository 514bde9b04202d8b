@_exported public import StrataCore
@_exported public import StrataLegacy
