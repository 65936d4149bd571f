package main

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
)

// What looks reads the large collections of config from secondaries, unless the connection
// string says where; what acts reads primaries.
func TestWhoReadsSecondaries(t *testing.T) {
	var remote atomic.Int64
	address := serve(t, heapedTopology, func(s *setting) {
		s.around = func(next wire.Handler) wire.Handler {
			return handlerFunc(func(ctx context.Context, r wire.Request) bson.Raw {
				if mode, _ := r.Body.Lookup("$readPreference", "mode").StringValueOK(); strings.HasPrefix(mode, "secondary") {
					remote.Add(1)
				}
				return next.Handle(ctx, r)
			})
		}
	}).address
	primary := "mongodb://" + address + "/?readPreference=primary"
	out := t.TempDir()
	for _, c := range []struct {
		line   string
		remote bool
	}{
		{"why ADDRESS", true},
		{"why ADDRESS --ns shop.orders", true},
		{"check ADDRESS", true},
		{"plan ADDRESS -o " + filepath.Join(out, "p.json"), true},
		{"forecast ADDRESS", true},
		{"simulate ADDRESS --change addShard", true},
		{"watch ADDRESS --once", true},
		{"report ADDRESS -o " + filepath.Join(out, "r.html"), true},
		{"map ADDRESS --ns shop.orders", true},
		{"snapshot ADDRESS -o " + filepath.Join(out, "s.snap"), true},
		{"ADDRESS --quiet --eval sh.why()", true},
		{"why PRIMARY", false},
		{"check PRIMARY", false},
		{"balance ADDRESS --all --preflight", false},
		{"drain ADDRESS --shard a --preflight", false},
		{"balance ADDRESS --all --dry-run", false},
		{"drain ADDRESS --shard c --yes --take-over", false},
		{"apply " + filepath.Join(out, "p.json") + " ADDRESS --yes --take-over --on-change=replan", false},
		{"balance ADDRESS --all --yes --take-over", false},
		{"balance ADDRESS --give-back", false},
	} {
		remote.Store(0)
		line := strings.NewReplacer("ADDRESS", address, "PRIMARY", primary).Replace(c.line)
		code, stdout, stderr := runProgram(t, "", strings.Fields(line)...)
		if code != exitOK && code != exitFindings {
			t.Errorf("%s: exit code %d: %s%s", c.line, code, stdout, stderr)
		}
		if n := remote.Load(); (n > 0) != c.remote {
			t.Errorf("%s: %d reads of secondaries", c.line, n)
		}
	}
}
