// Package cmdline parses command lines: options in sections, their spellings and old names, their
// values, and the errors for mistakes (rules/04-command-line-and-prompt §1.1).
package cmdline
