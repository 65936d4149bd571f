// Package cmdline reads command lines: options in sections, their spellings and old names, the values
// they take, and what is said of a mistake (rules/04-command-line-and-prompt §1.1).
package cmdline
