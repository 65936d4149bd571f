//go:build unix

package bench

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// line is what a work took, time by time.
type line struct {
	name      string
	inMemory  bool
	wall, cpu []time.Duration
	passes    []float64 // CPU time in passes
	memory    []int64
	mongosh   []time.Duration // wall time
}

func (l *line) add(took cost, pass time.Duration) {
	l.wall, l.cpu = append(l.wall, took.wall), append(l.cpu, took.cpu)
	l.passes = append(l.passes, float64(took.cpu)/float64(pass))
	l.memory = append(l.memory, took.memory)
}

// median is 0 of nothing.
func median[T cmp.Ordered](list []T) (middle T) {
	if len(list) > 0 {
		middle = slices.Sorted(slices.Values(list))[len(list)/2]
	}
	return middle
}

// figure is what the baseline holds of a work.
func (l line) figure() float64 {
	if l.inMemory {
		return float64(median(l.memory)) / (1 << 20)
	}
	return median(l.passes)
}

func (l line) unit() string {
	if l.inMemory {
		return "MiB"
	}
	return "passes"
}

// better returns the line with the smaller figure.
func (l line) better(other line) line {
	if other.figure() < l.figure() {
		return other
	}
	return l
}

// against returns how many times the baseline a work takes; 0 for one that is new.
func (l line) against(known baseline) float64 {
	if known[l.name] == 0 {
		return 0
	}
	return l.figure() / known[l.name]
}

// markdown lays lines out as a table. Times are medians in milliseconds.
func markdown(table []line, known baseline) string {
	var t strings.Builder
	row := func(columns ...string) {
		fmt.Fprintf(&t, "| %-36s |", columns[0])
		for _, c := range columns[1:] {
			fmt.Fprintf(&t, " %9s |", c)
		}
		t.WriteString("\n")
	}
	row("work", "ms", "CPU ms", "MiB", "passes", "baseline", "now/base", "mongosh", "mongosh/ms")
	row("---", "---:", "---:", "---:", "---:", "---:", "---:", "---:", "---:")
	for _, l := range table {
		row(l.name, milliseconds(median(l.wall)), milliseconds(median(l.cpu)), number(float64(median(l.memory))/(1<<20), 0),
			number(median(l.passes), 2), number(known[l.name], 2), number(l.against(known), 2),
			milliseconds(median(l.mongosh)), number(float64(median(l.mongosh))/float64(max(median(l.wall), 1)), 2))
	}
	return t.String()
}

func milliseconds(d time.Duration) string { return number(float64(d)/1e6, 0) }

// number is empty for what was not measured, and has digits where a small one needs them.
func number(x float64, digits int) string {
	switch {
	case x == 0:
		return ""
	case x < 10 && digits == 0:
		digits = 1
	}
	return fmt.Sprintf("%.*f", digits, x)
}

// baseline has the figure of each work: passes, or MiB.
type baseline map[string]float64

const baselineFile = "baseline.json"

func readBaseline(tb testing.TB) (known baseline) {
	tb.Helper()
	text, err := os.ReadFile(baselineFile)
	if errors.Is(err, fs.ErrNotExist) {
		return baseline{}
	}
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return known
}

// writeBaseline keeps what was not measured this time.
func writeBaseline(b *testing.B, table []line, known baseline) {
	b.Helper()
	next := maps.Clone(known)
	for _, l := range table {
		next[l.name] = float64(int(l.figure()*1000+0.5)) / 1000
	}
	text, err := json.MarshalIndent(next, "", "  ")
	if err == nil {
		err = os.WriteFile(baselineFile, append(text, '\n'), 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
}

func TestLine(t *testing.T) {
	l := line{name: "w"}
	for i, wall := range []time.Duration{30 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond} {
		took := cost{wall: wall, cpu: 2 * wall, memory: int64(i+1) << 20}
		l.add(took, 10*time.Millisecond)
	}
	known := baseline{"w": 2}
	if l.figure() != 4 || l.against(known) != 2 || l.against(baseline{}) != 0 {
		t.Errorf("%v passes, %v times the baseline", l.figure(), l.against(known))
	}
	worse := line{name: "w", passes: []float64{5}}
	if l.better(worse).figure() != 4 || worse.better(l).figure() != 4 {
		t.Error("the slower line was kept")
	}
	l.mongosh = []time.Duration{50 * time.Millisecond}
	rows := strings.Split(markdown([]line{l}, known), "\n")
	want := strings.Fields("| w | 20 | 40 | 2.0 | 4.00 | 2.00 | 2.00 | 50 | 2.50 |")
	if got := strings.Fields(rows[2]); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	l.inMemory = true
	if l.figure() != 2 || l.unit() != "MiB" {
		t.Errorf("%v %s", l.figure(), l.unit())
	}
}

// What the baseline holds are works that there are.
func TestBaseline(t *testing.T) {
	names := map[string]bool{}
	for _, w := range works(&shells{}) {
		names[w.name] = true
	}
	known := readBaseline(t)
	for name := range names {
		if known[name] <= 0 {
			t.Errorf("%q is not in the baseline: -bench.update", name)
		}
	}
	for name := range known {
		if !names[name] {
			t.Errorf("%q of the baseline is not a work any more", name)
		}
	}
}
