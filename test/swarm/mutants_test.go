package swarm

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	mutating = flag.Uint64("swarm.mutants", 0, "build each mutant, and let it run so many seeds at most")
	only     = flag.String("swarm.mutant", "", "only the mutant whose name has this in it")
)

// mutant is a mistake that somebody could make: in a file, old becomes new.
type mutant struct {
	name, file, old, new string
	rules                string // those that may find it
}

// A move without the renewal of the lease before it is none of them: two other checks stop a
// process that has lost its lease before it gets that far.
var mutants = []mutant{
	{
		"the lease is taken though somebody holds it", "balancer/live/lease.go",
		"		equal(\"$token\", l.token),\n", "		equal(\"$_id\", \"$_id\"),\n", "lease, one runner",
	}, {
		"balancing is switched off before that is recorded", "balancer/live/leasedcluster_balancing.go",
		"	if err := l.lease.RecordPaused(ctx, some, uuids); err != nil {\n		return nil, err\n	}\n	l.rememberPaused(some, uuids)\n" +
			"	return l.executor.setBalancing(ctx, some, false)\n",
		"	l.rememberPaused(some, uuids)\n	done, err := l.executor.setBalancing(ctx, some, false)\n" +
			"	if err := l.lease.RecordPaused(ctx, some, uuids); err != nil {\n		return nil, err\n	}\n	return done, err\n", "switched off",
	}, {
		"what is off is forgotten before it is on", "balancer/live/leasedcluster_balancing.go",
		"	done, failed := l.executor.setBalancing(ctx, on, true)\n",
		"	_ = l.lease.RemovePaused(ctx, on)\n	done, failed := l.executor.setBalancing(ctx, on, true)\n", "switched off",
	}, {
		"the journal loses that a step has begun", "balancer/apply/journal.go",
		"	line, err := json.Marshal(r)\n",
		"	if r.What == recordBegan {\n		return nil\n	}\n	line, err := json.Marshal(r)\n", "undo, liveness, rest",
	}, {
		"one move more than the limit", "balancer/pace/gate.go",
		"next.Moves > r.MaxMoves && !m.MovesNothing", "next.Moves > r.MaxMoves+1 && !m.MovesNothing", "limit",
	}, {
		"a draining shard receives", "balancer/policy/sizebalancing.go",
		"m.free && m.measured && !m.Draining && (best", "m.free && m.measured && (best", "S2",
	}, {
		"a round has one shard take part twice", "balancer/policy/sizebalancing.go",
		"if m.free && m.measured && !m.Draining && (best", "if m.measured && !m.Draining && (best", "S1, M1",
	}, {
		"the donor's range is deleted before the commit", "balancer/mock/migration_commit.go",
		"	m.steps.endRecipientSteps(m.ms.clock.Now(), 5)\n",
		"	m.steps.endRecipientSteps(m.ms.clock.Now(), 5)\n	m.ms.deleter.deleteDocuments(m.donor, m.local(m.donor), m.donorTask)\n", "writes",
	}, {
		"a bound of a range belongs to it", "balancer/mock/migration_prepare.go",
		"	if key.Compare(m.min) < 0 {", "	if key.Compare(m.min) <= 0 && !m.min.Equal(m.coll.Pattern.GlobalMin()) {", "writes, rest",
	}, {
		"what is written during the clone is not copied", "balancer/mock/migration_commit.go",
		"	case is:\n		trackModification(&m.mods.upserts, m.mods.deletes, after)\n", "	case is:\n", "writes, rest",
	}, {
		"a commit keeps the collection's version", "balancer/catalog/commit.go",
		"	version := ChunkVersion{Major: t.Version().Major + 1}\n	next := func() ChunkVersion {\n		version.Minor++\n		return version\n	}\n	moved",
		"	version := ChunkVersion{Major: t.Version().Major, Minor: t.Version().Minor + 1}\n	next := func() ChunkVersion {\n" +
			"		version.Minor++\n		return version\n	}\n	moved", "M5",
	}, {
		"the recipient does not wait for its own deletions", "balancer/mock/migration_prepare.go",
		"	case s.overlappingDeletion(deletionRange{m.coll.UUID, m.min, m.max}) == nil:\n", "	case true:\n", "M2",
	}, {
		"the repair of zones is said to even out sizes", "balancer/policy/chunkselection.go",
		"sel.evict(donor, sel.layout.intervals[at].zone, ReasonZoneViolation)",
		"sel.evict(donor, sel.layout.intervals[at].zone, ReasonChunksImbalance)", "S5",
	}, {
		"two chunk sizes are apart enough", "balancer/policy/sizebalancing.go",
		"const ImbalanceFactor = 3", "const ImbalanceFactor = 2", "S6",
	}, {
		"a round does not end with its balancer", "balancer/round.go",
		"	defer l.status.end()\n",
		"	defer func() {\n		if !l.isTerminating() {\n			l.status.end()\n		}\n	}()\n", "S9",
	}, {
		"a range deletion waits for no cursor", "balancer/mock/shard_cursors.go",
		"slices.Contains(r.shards, shard) && r.secondary == nil {", "slices.Contains(r.shards, shard) && r.secondary != nil {", "M8",
	},
}

func (m mutant) text() (before, after string, err error) {
	data, err := os.ReadFile(filepath.Join("..", "..", m.file))
	if err != nil {
		return "", "", err
	}
	before = string(data)
	if n := strings.Count(before, m.old); n != 1 {
		return "", "", fmt.Errorf("%s has the text of the mutant %q %d times", m.file, m.name, n)
	}
	return before, strings.Replace(before, m.old, m.new, 1), nil
}

// Each mutant still fits the file that it changes, and names nothing that the package does not have.
func TestMutantsFit(t *testing.T) {
	for _, m := range mutants {
		if _, _, err := m.text(); err != nil {
			t.Error(err)
		}
		known := packageWords(t, filepath.Dir(m.file))
		for _, w := range words.FindAllString(m.new, -1) {
			if !known[w] {
				t.Errorf("the mutant %q names %s, which the package does not have", m.name, w)
			}
		}
	}
}

var words = regexp.MustCompile(`[A-Za-z_]\w*`)

func packageWords(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range words.FindAllString(string(text), -1) {
			known[w] = true
		}
	}
	return known
}

// Each mutant breaks a rule that it should break. This takes minutes: it builds the program again for each.
func TestMutantsAreFound(t *testing.T) {
	if *mutating == 0 {
		t.Skip("needs -swarm.mutants 2000")
	}
	for _, m := range mutants {
		if !strings.Contains(m.name, *only) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			out := m.run(t, *mutating)
			for _, rule := range strings.Split(m.rules, ", ") {
				if strings.Contains(out, ": "+rule+": ") {
					t.Log(strings.SplitN(out, "\n", 3)[1])
					return
				}
			}
			t.Errorf("not found by %s: %.600s", m.rules, out)
		})
	}
}

// run builds a mutant and runs its swarm until the first violation.
func (m mutant) run(t *testing.T, seeds uint64) string {
	_, after, err := m.text()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	changed, overlay, program := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "swarm.test")
	plan, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, m.file): changed}})
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{changed: []byte(after), overlay: plan} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-tags", "mutant", "-overlay", overlay, "-o", program, "./test/swarm")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for first := uint64(0); first < seeds; {
		run := exec.CommandContext(t.Context(), program, "-test.run", "^TestSwarm$", "-swarm.stop", "-swarm.most", "40s",
			"-swarm.first", fmt.Sprint(first), "-swarm.seeds", fmt.Sprint(seeds-first))
		out, _ := run.CombinedOutput() // it is to fail
		if run.ProcessState.ExitCode() != tooLong {
			return string(out)
		}
		t.Logf("%s", out) // a seed in which the mutant computes without an end: another one may tell more
		if _, err := fmt.Sscanf(string(out[bytes.LastIndex(out, []byte("seed ")):]), "seed %d: endless", &first); err != nil {
			t.Fatal(err)
		}
		first++
	}
	return ""
}
