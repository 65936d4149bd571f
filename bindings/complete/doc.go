// Package complete offers ways to finish an input (rules/04-command-line-and-prompt §2.9): members of
// what is known without running anything, names that the servers have, fields, files, words of
// commands.
package complete
