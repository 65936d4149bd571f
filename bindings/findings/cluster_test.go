package findings_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/bindings"
	"shardsh/bindings/script"
)

// noon is when the clusters of these tests begin.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// cluster is a shell on a mock cluster in virtual time.
type cluster struct {
	*testing.T
	client *mongo.Client
	shell  *bindings.Shell
	out    *bytes.Buffer
}

// newCluster makes a cluster of a topology file's text.
func newCluster(t *testing.T, version catalog.Release, topology string) *cluster {
	t.Helper()
	made, client := mocktest.New(t, topology, mock.Config{Release: version, Start: noon, Seed: 7})
	c := &cluster{T: t, client: client, out: &bytes.Buffer{}}
	var err error
	c.shell, err = bindings.New(bindings.Config{
		Client: client, Address: "mongodb://mock:27017/", Database: "test",
		Deployment: "mock: mongos", Clock: made.Clock(), Stdout: c.out, Stderr: c.out, Version: "1.2.3",
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eval runs an input and returns what it shows.
func (c *cluster) eval(input string) (string, error) {
	c.out.Reset()
	result, err := c.shell.Eval(c.Context(), "test", input)
	text := ""
	if err == nil {
		text, err = c.shell.Render(c.Context(), result)
	}
	if thrown, ok := errors.AsType[*script.Error](err); ok {
		return c.out.String(), fmt.Errorf("%s: %s", input, thrown.Text())
	}
	return c.out.String() + text, err
}

// do runs inputs that must not fail.
func (c *cluster) do(inputs ...string) {
	c.Helper()
	for _, input := range inputs {
		if input == "" {
			continue
		}
		if _, err := c.eval(input); err != nil {
			c.Fatal(err)
		}
	}
}

// answer is what scripts get of sh.why.
type answer struct {
	Headline                string
	Healthy                 bool
	Symptoms, Causes, Notes []finding
}

type finding struct {
	Code, Severity, Actor, Sentence, Remedy string
	About                                   struct{ Ns, Shard, To, Zone string }
	Since, Due                              time.Time
	Numbers                                 []struct {
		Name  string
		Value int64
	}
	Commands, Instead []string
}

// why asks, with the arguments as they are entered.
func (c *cluster) why(arguments string) (a answer) {
	c.Helper()
	text, err := c.eval("EJSON.stringify(sh.why(" + arguments + "))")
	if err == nil {
		err = json.Unmarshal([]byte(text), &a)
	}
	if err != nil {
		c.Fatalf("%v: %s", err, text)
	}
	return a
}

// named returns the first finding with a code, of what an answer has of causes,
// symptoms and notes.
func (a answer) named(code string) (finding, bool) {
	for _, list := range [][]finding{a.Causes, a.Symptoms, a.Notes} {
		for _, f := range list {
			if f.Code == code {
				return f, true
			}
		}
	}
	return finding{}, false
}

// first is the finding that an answer names first: a cause, else what is wrong,
// else what is worth knowing.
func (a answer) first() string {
	for _, list := range [][]finding{a.Causes, a.Symptoms, a.Notes} {
		if len(list) > 0 {
			return list[0].Code
		}
	}
	return "nothing"
}

func (a answer) String() string {
	var lines []string
	for i, list := range [][]finding{a.Symptoms, a.Causes, a.Notes} {
		for _, f := range list {
			lines = append(lines, fmt.Sprintf("%s %s %s: %s; %s %v", []string{"wrong", "cause", "note"}[i], f.Code, f.Actor,
				f.Sentence, f.Remedy, f.Commands))
		}
	}
	return strings.Join(lines, "\n")
}

// follow does what a finding says: it enters its commands, with placeholders
// filled in, or lets time pass.
func (c *cluster) follow(f finding, fill map[string]string) {
	c.Helper()
	for _, command := range f.Commands {
		for placeholder, value := range fill {
			command = strings.ReplaceAll(command, placeholder, value)
		}
		c.do(command)
	}
	switch {
	case len(f.Commands) > 0:
	case f.Due.IsZero():
		c.do(`mock.advance("20m")`)
	default:
		c.do(fmt.Sprintf(`mock.advance(Math.max(0, new Date(%q) - mock.now()) + 60000)`, f.Due.Format(time.RFC3339)))
	}
}
