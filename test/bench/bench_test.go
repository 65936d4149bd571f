//go:build unix

package bench

import (
	"flag"
	"fmt"
	"testing"
	"time"
)

var (
	program = flag.String("bench.shardsh", "", "the program to measure; one is built of the sources without")

	update = flag.Bool("bench.update", false, "write baseline.json again, with what was measured")
	limit  = flag.Float64("bench.limit", 1.3, "how many times the baseline a work may take")
)

// BenchmarkWorks does all works, or those that -bench names ("Works/find"), and prints
// them as one table.
func BenchmarkWorks(b *testing.B) {
	known := readBaseline(b)
	var table []line
	for _, w := range works(newShells(b)) {
		b.Run(w.name, func(b *testing.B) {
			if b.N > 1 {
				return // it was measured; how often, measure says and not -benchtime
			}
			l := measure(b, w)
			for range 2 { // once too slow may be the machine's doing
				if l.against(known) > *limit && !*update {
					l = l.better(measure(b, w))
				}
			}
			table = append(table, l)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(l.figure(), l.unit())
		})
	}
	fmt.Print("\n", markdown(table, known), "\n")
	if *update {
		writeBaseline(b, table, known)
		return
	}
	for _, l := range table {
		if r := l.against(known); r > *limit {
			b.Errorf("%s takes %.2f times the baseline; more than %.2f is too much", l.name, r, *limit)
		}
	}
}

// measure does a work until a second is over, but three times, or as often as ten
// seconds allow. Before each time there is a pass, and after it mongosh's turn.
func measure(b *testing.B, w work) line {
	b.Helper()
	once := w.shardsh(b)
	var other func() cost
	if w.mongosh != nil {
		other = w.mongosh(b)
	}
	l := line{name: w.name, inMemory: w.inMemory}
	pass := packedPass(b)
	began := time.Now()
	for enough := false; !enough; {
		unit := pass()
		l.add(once(), unit)
		if other != nil {
			l.mongosh = append(l.mongosh, other().wall)
		}
		spent := time.Since(began)
		enough = spent > 10*time.Second || spent > time.Second && len(l.wall) >= 3
	}
	return l
}
