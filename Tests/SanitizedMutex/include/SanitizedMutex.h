// Nothing to call: see SanitizedMutex.c.
