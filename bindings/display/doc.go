// Package display formats values for humans: as the shell prints them, as tables on a terminal, and as
// the old shell's JSON. It also shows the progress of long waits. Package values handles the structure
// of values.
package display
