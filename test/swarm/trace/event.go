package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Kinds of events.
const (
	Start              = "start"                  // the first one: Text is the release, in full
	Catalog            = "catalog"                // one document changes: a chunk, or Entry; same Op: at once
	CmdBegin           = "cmd.begin"              // a command of By at a router
	CmdEnd             = "cmd.end"                // Code 0 is ok; Lost: the answer did not reach the sender
	MigrationStart     = "migration.start"        // these have the names that the mock gives them
	MigrationCommitted = "migration.committed"    // the catalog has the new owner
	MigrationDone      = "migration.done"         // the migration has succeeded
	MigrationFailed    = "migration.failed"       // the migration has failed
	RoundBegin         = "round.begin"            // Number is how many rounds have ended in Term
	RoundEnd           = "round.end"              // the same
	Lease              = "lease"                  // By holds it, Number is its fence; no By: it is free
	Paused             = "paused"                 // Names are the collections that the lease names as switched off
	OpBegin            = "op.begin"               // what a writer does to Key: Cmd is inc, read or scan
	OpEnd              = "op.end"                 // Number is what was read
	ProcessBegin       = "process.begin"          // a process of ours; Limit is how many moves it may do
	ProcessEnd         = "process.end"            // Code 0 is ok
	Kill               = "kill"                   // a process ends where it stands
	Fault              = "fault"                  // what happened to the servers
	RangeRegistered    = "rangedeletion.register" // a range waits for its deletion on Node
	RangeReady         = "rangedeletion.ready"    // its migration is decided, and Node knows it
	RangeDone          = "rangedeletion.done"     // it was deleted, or is not to be
	CursorOpen         = "cursor.open"            // cursor Op reads NS on the shards Names
	CursorEnd          = "cursor.end"             // cursor Op is closed
	BalancerBegin      = "balancer.begin"         // the balancer of Term runs
	BalancerEnd        = "balancer.end"           // it does not run any more
	Endless            = "endless"                // a process, or the command Cmd, still runs long after all has healed
	Metadata           = "metadata"               // Text is the uuid that NS has on Node, at rest
	Index              = "index"                  // Names are the indexes of an owner of NS, at rest
	Rest               = "rest"                   // the end; Names are what the cluster finds broken
)

// NothingToUndo is the Text of the end of a process that has found nothing to undo in a journal.
const NothingToUndo = "nothing to undo"

// Bound is a bound of a chunk. The keys of the swarm have one number.
type Bound int64

// The ends of the key space.
const (
	MinKey Bound = math.MinInt64
	MaxKey Bound = math.MaxInt64
)

func (b Bound) String() string {
	switch b {
	case MinKey:
		return "MinKey"
	case MaxKey:
		return "MaxKey"
	}
	return strconv.FormatInt(int64(b), 10)
}

// MarshalText returns MinKey, MaxKey or a number.
func (b Bound) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads what MarshalText returns.
func (b *Bound) UnmarshalText(text []byte) error {
	switch string(text) {
	case "MinKey":
		*b = MinKey
		return nil
	case "MaxKey":
		*b = MaxKey
		return nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	*b = Bound(n)
	return err
}

// Chunk is a document of config.chunks.
type Chunk struct {
	Min   Bound  `json:"min"`
	Max   Bound  `json:"max"`
	Shard string `json:"shard"`
	Major uint32 `json:"major"`
	Minor uint32 `json:"minor"`
	Epoch string `json:"epoch,omitempty"`
	Jumbo bool   `json:"jumbo,omitempty"`
	// Since is when it came to its shard; History has the shards, newest first, with that time.
	Since   uint64    `json:"since,omitempty"`
	History []History `json:"history,omitempty"`
}

// History says that a chunk was on a shard from a time on.
type History struct {
	Shard string `json:"shard"`
	At    uint64 `json:"at"`
}

// Entry is a document of config.collections, config.shards or config.tags, or a setting.
type Entry struct {
	// Of is collections, shards, tags or settings.
	Of        string `json:"of"`
	ID        string `json:"id"`
	Gone      bool   `json:"gone,omitempty"`
	UUID      string `json:"uuid,omitempty"`
	NoBalance bool   `json:"noBalance,omitempty"`
	Frozen    bool   `json:"frozen,omitempty"` // allowMigrations is false
	// Unsplittable: it is tracked, and not sharded.
	Unsplittable bool     `json:"unsplittable,omitempty"`
	Draining     bool     `json:"draining,omitempty"`
	Zones        []string `json:"zones,omitempty"`
	Zone         string   `json:"zone,omitempty"`
	Min          Bound    `json:"min,omitempty"`
	Max          Bound    `json:"max,omitempty"`
	Mode         string   `json:"mode,omitempty"`
}

// Event is one thing that happened. T is in microseconds since the start.
type Event struct {
	Seq  int    `json:"seq"`
	T    int64  `json:"t"`
	Ev   string `json:"ev"`
	Node string `json:"node,omitempty"`
	Op   int    `json:"op,omitempty"`
	By   string `json:"by,omitempty"`

	NS   string `json:"ns,omitempty"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	Min  *Bound `json:"min,omitempty"`
	Max  *Bound `json:"max,omitempty"`

	Before *Chunk `json:"before,omitempty"`
	After  *Chunk `json:"after,omitempty"`
	Entry  *Entry `json:"entry,omitempty"`

	Cmd    string   `json:"cmd,omitempty"`
	Key    int64    `json:"key,omitempty"`
	Number int64    `json:"number,omitempty"`
	Term   int64    `json:"term,omitempty"`
	Code   int      `json:"code,omitempty"`
	Lost   bool     `json:"lost,omitempty"`
	Limit  int      `json:"limit,omitempty"`
	Names  []string `json:"names,omitempty"`
	Text   string   `json:"text,omitempty"`
	// Reason is what the balancer moves a range for. Sizes are the bytes that From and To own of the
	// collection then, where the release looks at them, ChunkSize those of a chunk, and Copied those that
	// were copied so far.
	Reason    string  `json:"reason,omitempty"`
	Sizes     []int64 `json:"sizes,omitempty"`
	ChunkSize int64   `json:"chunkSize,omitempty"`
	Copied    int64   `json:"copied,omitempty"`
	// Rows are what a scan has read.
	Rows []Row `json:"rows,omitempty"`
}

// Row is a document of a writer: the key, and how often it was incremented.
type Row struct {
	Key    int64 `json:"key"`
	Number int64 `json:"number"`
}

// Range returns the bounds of an event; those that it does not have are open.
func (e Event) Range() (min, max Bound) {
	min, max = MinKey, MaxKey
	if e.Min != nil {
		min = *e.Min
	}
	if e.Max != nil {
		max = *e.Max
	}
	return min, max
}

// Trace is the events of a run, in their order.
type Trace []Event

// Lines returns one JSON object a line.
func (t Trace) Lines() []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	for _, e := range t {
		if err := encoder.Encode(e); err != nil {
			panic(err) // plain values
		}
	}
	return b.Bytes()
}

// Parse reads what Lines writes. Events without a number get that of their line.
func Parse(lines []byte) (Trace, error) {
	var t Trace
	for i, line := range bytes.Split(bytes.TrimSpace(lines), []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		e := Event{Seq: i + 1}
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&e); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		t = append(t, e)
	}
	return t, nil
}

// Violation is a rule that a trace breaks.
type Violation struct {
	// Rule is its name, as C1 or "one runner".
	Rule string
	// Text says what is broken.
	Text string
	// Events are the numbers of those involved; the last one ends the shortest prefix that
	// shows it.
	Events []int
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: %s (events %v)", v.Rule, v.Text, v.Events)
}

// Checker finds the violations of a rule, or some.
type Checker func(Trace) []Violation
