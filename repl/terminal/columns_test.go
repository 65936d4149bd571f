package terminal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestNamesInColumns: rows that fit, with every name in them once, and with
// nothing in common that was not typed: liner would put it in.
func TestNamesInColumns(t *testing.T) {
	var many []string
	for i := range 90 {
		many = append(many, fmt.Sprintf("%c%s", 'a'+i/4, strings.Repeat("x", i*7%20)+fmt.Sprint(i)))
	}
	slices.Sort(many)
	for _, tt := range []struct {
		names []string
		typed string
		width int
		rows  int // at most
	}{
		{many, "", 80, 30}, {many, "", 200, 13}, {many, "", 40, 90}, {many, "", 0, 90},
		{[]string{"splitAt", "splitFind"}, "split", 80, 2},
		{[]string{"findOne", "findOneAndDelete", "findOneAndUpdate", "findOneAndReplace"}, "fi", 80, 4}, // what they have in common comes first
		{[]string{"alone"}, "", 80, 1},
		{nil, "", 80, 0},
	} {
		rows := layoutCompletions(tt.names, tt.typed, tt.width)
		if got := strings.Fields(strings.Join(rows, " ")); len(rows) > tt.rows ||
			!slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(tt.names))) {
			t.Errorf("%d names in %d columns: %q", len(tt.names), tt.width, rows)
		}
		if len(rows) == 0 || slices.Equal(rows, tt.names) {
			continue
		}
		if commonPrefix(rows) != tt.typed || len(rows) < 2 || maxWidth(rows) >= tt.width-1 {
			t.Errorf("%q in %d columns: %q", tt.typed, tt.width, rows)
		}
	}
}
