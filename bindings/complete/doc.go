// Package complete offers ways to finish an input (spec 04 §2.9): members of what
// is known without running anything, names that the servers have, fields, files,
// words of commands.
package complete
