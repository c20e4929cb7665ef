package vrp

import "weir/internal/field/dialect"

// Statements returns the table of statements, for writing commands.
func Statements() *dialect.Grammar { return grammar }
