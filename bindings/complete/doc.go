// Package complete completes inputs (rules/04-command-line-and-prompt §2.9): members of values that are
// known without running code, names from servers, fields, files, and arguments of commands.
package complete
