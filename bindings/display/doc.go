// Package display shows values to people: as the shell prints them, as tables on a
// terminal, as the old shell's JSON, and how far a long wait is. What a value is
// made of is the concern of package values.
package display
