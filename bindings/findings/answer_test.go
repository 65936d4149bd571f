package findings

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// An answer about 40 shards and 300 collections, of which much is wrong at once, fits a
// screen of 40 lines and 80 columns; asked for all, it names every one.
func TestAnswerFitsAScreen(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	a := diagnosis.Answer{Time: now}
	about := func(code diagnosis.Code, scope diagnosis.Scope, commands ...string) diagnosis.Finding {
		return diagnosis.NewFinding(code, scope, fmt.Sprintf("what %s says of %s%s", code, scope.Namespace, scope.Shard), commands...)
	}
	for i := range 300 {
		of := diagnosis.Scope{Namespace: fmt.Sprintf("app.collection%03d", i)}
		a.Symptoms = append(a.Symptoms, about(diagnosis.NotBalanced, of))
		switch i % 4 {
		case 1:
			a.Causes = append(a.Causes, about(diagnosis.JumboChunks, of, strings.Split(strings.Repeat("sh.splitAt() ", 9), " ")...))
		case 2:
			a.Causes = append(a.Causes, about(diagnosis.BalancingOff, of, "sh.enableBalancing("+of.Namespace+")"))
		case 3:
			a.Notes = append(a.Notes, about(diagnosis.BelowThreshold, of))
		}
	}
	for i := range 40 {
		of := diagnosis.Scope{Shard: catalog.ShardID(fmt.Sprintf("shard%02d", i))}
		a.Symptoms = append(a.Symptoms, about(diagnosis.DrainNeedsOperator, of, "sh.movePrimary("+string(of.Shard)+")"))
		a.Causes = append(a.Causes, about(diagnosis.ShardUnreachable, of), about(diagnosis.ShardSlow, of))
		a.Notes = append(a.Notes, about(diagnosis.Orphans, of))
		a.KnownFaults = append(a.KnownFaults, about(diagnosis.KnownFault, of))
	}
	short, long := AnswerText(a, false), AnswerText(a, true)
	if n := strings.Count(short, "\n"); n > 40 {
		t.Errorf("%d lines:\n%s", n, short)
	}
	for line := range strings.Lines(short) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
	for _, part := range []string{"(shardUnreachable); also shard01", "(balancingOff); also app.collection006", "and 146 more", "--long"} {
		if !strings.Contains(strings.Join(strings.Fields(short), " "), part) {
			t.Errorf("no %q in\n%s", part, short)
		}
	}
	if n := strings.Count(long, "(notBalanced)"); n != 300 {
		t.Errorf("the whole names %d collections", n)
	}
}
