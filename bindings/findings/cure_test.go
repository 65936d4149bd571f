package findings_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"shardsh/balancer/catalog"
	"shardsh/bindings/findings"
)

// The clusters of cause below are changed from this one: what shard a has of
// x.y should be even.
const lopsided = `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
 "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [
  {"shard": "a", "max": {"k": 0}, "bytes": "3GiB", "docs": 3145728},
  {"shard": "a", "max": {"k": 1000}, "bytes": "3GiB", "docs": 3145728},
  {"shard": "a", "bytes": "3GiB", "docs": 3145728}]}]}`

// cure is a cluster in which something keeps data from its place, or looks as if.
type cure struct {
	name     string
	version  catalog.Release
	topology string // lopsided when empty
	setup    []string
	about    string // the arguments of sh.why
	// want is the code that has to come first, and be gone when its remedy was
	// followed, with these words for its placeholders.
	want string
	fill map[string]string
	// outside stands for what an operator does who has no command for it.
	outside string
	// instead: the commands that spare the waiting are followed.
	instead bool
	// stays: nothing is to be done about it, and it stays.
	stays bool
}

func TestEveryCauseAndItsCure(t *testing.T) {
	for _, one := range cures() {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			topology := one.topology
			if topology == "" {
				topology = lopsided
			}
			c := newCluster(t, one.version, topology)
			c.do(one.setup...)
			before := c.why(one.about)
			if got := before.first(); got != one.want {
				t.Fatalf("%s comes first, want %s\n%s", got, one.want, before)
			}
			f, _ := before.named(one.want)
			if f.Remedy == "" || f.Sentence == "" || f.Actor == "" {
				t.Errorf("incomplete: %+v", f)
			}
			if slices.Contains(datable, f.Code) == f.Since.IsZero() || slices.Contains(timed, f.Code) == f.Due.IsZero() {
				t.Errorf("since %v, due %v", f.Since, f.Due)
			}
			c.fits(one.about, before)
			c.do(one.outside)
			if one.instead {
				f.Commands = f.Instead
			}
			c.follow(f, one.fill)
			after := c.why(one.about)
			if _, still := after.named(one.want); still != one.stays {
				t.Errorf("%s was followed by %v, and it is there: %v\n%s", one.want, f.Commands, still, after)
			}
		})
	}
}

// datable are the codes of these clusters that say since when, timed those that say
// when they end by themselves.
var (
	datable = []string{"balancerOff", "roundsFailing", "duplicateMachineIds", "resharding", "pendingDeletion"}
	timed   = []string{"windowShut", "pendingDeletion"}
)

// fits looks for lines of the text that are too wide; commands may be.
func (c *cluster) fits(about string, a answer) {
	c.Helper()
	text, err := c.eval("sh.why(" + about + ")")
	if err != nil {
		c.Fatal(err)
	}
	var commands []string
	for _, f := range slices.Concat(a.Symptoms, a.Causes, a.Notes) {
		commands = append(append(commands, f.Commands...), f.Instead...)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		isCommand := slices.ContainsFunc(commands, func(command string) bool { return strings.HasSuffix(line, command) })
		if utf8.RuneCountInString(line) > findings.Width && !isCommand {
			c.Errorf("too wide: %s", line)
		}
	}
}

func cures() []cure {
	return slices.Concat(ofCluster(), ofCollections(), ofZones(), ofChunks(), ofDrains())
}
