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
	Start              = "start"                  // the first event: Text is the full release
	Catalog            = "catalog"                // a chunk or Entry of config changes; a transaction has one Op
	CmdBegin           = "cmd.begin"              // By sends a command to a router
	CmdEnd             = "cmd.end"                // Code 0 is ok; Lost: the reply did not reach the sender
	MigrationStart     = "migration.start"        // these have the names of the mock's events
	MigrationCommitted = "migration.committed"    // the catalog has the new owner
	MigrationDone      = "migration.done"         // the migration has succeeded
	MigrationFailed    = "migration.failed"       // the migration has failed
	RoundBegin         = "round.begin"            // Number is the number of rounds that have ended in Term
	RoundEnd           = "round.end"              // as RoundBegin
	Lease              = "lease"                  // By holds it, Number is its fence; empty By: it is free
	BalancingOff       = "paused"                 // Names are the collections that the lease lists as switched off
	OpBegin            = "op.begin"               // operation of a writer on Key: Cmd is inc, read or scan
	OpEnd              = "op.end"                 // Number is the read value
	ProcessBegin       = "process.begin"          // a process of the program; MaxMoves is the maximum number of moves
	ProcessEnd         = "process.end"            // Code 0 is ok
	Kill               = "kill"                   // a process is killed
	Fault              = "fault"                  // an injected fault
	RangeRegistered    = "rangedeletion.register" // a range deletion is registered on Node
	RangeReady         = "rangedeletion.ready"    // the migration is decided, and Node knows it
	RangeDone          = "rangedeletion.done"     // the range was deleted, or will not be deleted
	CursorOpen         = "cursor.open"            // cursor Op reads NS on the shards Names
	CursorEnd          = "cursor.end"             // cursor Op is closed
	BalancerBegin      = "balancer.begin"         // the balancer of Term runs
	BalancerEnd        = "balancer.end"           // it no longer runs
	RunsTooLong        = "endless"                // a process, or the command Cmd, runs long after all has healed
	Metadata           = "metadata"               // Text is the UUID of NS on Node, at rest
	Index              = "index"                  // Names are the indexes of NS on an owner, at rest
	ClusterAtRest      = "rest"                   // the end; Names are the violated invariants of the cluster
)

// NothingToUndo is the Text of a ProcessEnd if the process has found nothing to undo in a journal.
const NothingToUndo = "nothing to undo"

// Bound is a bound of a chunk. The keys of the swarm are single numbers.
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
	// Since is the time when the chunk arrived on its shard. History has the shards, newest first, with
	// these times.
	Since   uint64    `json:"since,omitempty"`
	History []History `json:"history,omitempty"`
}

// History is an entry of a chunk's history.
type History struct {
	Shard string `json:"shard"`
	At    uint64 `json:"at"`
}

// Entry is a document of config.collections, config.shards or config.tags, or a setting.
type Entry struct {
	// Collection is collections, shards, tags or settings.
	Collection   string `json:"of"`
	ID           string `json:"id"`
	Removed      bool   `json:"gone,omitempty"`
	UUID         string `json:"uuid,omitempty"`
	NoBalance    bool   `json:"noBalance,omitempty"`
	NoMigrations bool   `json:"frozen,omitempty"` // allowMigrations: false
	// Unsplittable collections are tracked but not sharded.
	Unsplittable bool     `json:"unsplittable,omitempty"`
	Draining     bool     `json:"draining,omitempty"`
	Zones        []string `json:"zones,omitempty"`
	Zone         string   `json:"zone,omitempty"`
	Min          Bound    `json:"min,omitempty"`
	Max          Bound    `json:"max,omitempty"`
	Mode         string   `json:"mode,omitempty"`
}

// Event is one line of a trace. Micros is the time in microseconds since the start.
type Event struct {
	Seq    int    `json:"seq"`
	Micros int64  `json:"t"`
	Kind   string `json:"ev"`
	Node   string `json:"node,omitempty"`
	Op     int    `json:"op,omitempty"`
	By     string `json:"by,omitempty"`

	NS   string `json:"ns,omitempty"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	Min  *Bound `json:"min,omitempty"`
	Max  *Bound `json:"max,omitempty"`

	Before *Chunk `json:"before,omitempty"`
	After  *Chunk `json:"after,omitempty"`
	Entry  *Entry `json:"entry,omitempty"`

	Cmd       string   `json:"cmd,omitempty"`
	Key       int64    `json:"key,omitempty"`
	Number    int64    `json:"number,omitempty"`
	Term      int64    `json:"term,omitempty"`
	Code      int      `json:"code,omitempty"`
	ReplyLost bool     `json:"lost,omitempty"`
	MaxMoves  int      `json:"limit,omitempty"`
	Names     []string `json:"names,omitempty"`
	Text      string   `json:"text,omitempty"`
	// Reason is the balancer's reason for moving a range. Sizes are the owned bytes of the collection on
	// From and To at that time, if the release uses them. ChunkSize is the chunk size, and Copied the
	// number of bytes copied so far.
	Reason    string  `json:"reason,omitempty"`
	Sizes     []int64 `json:"sizes,omitempty"`
	ChunkSize int64   `json:"chunkSize,omitempty"`
	Copied    int64   `json:"copied,omitempty"`
	// Rows are the results of a scan.
	Rows []Row `json:"rows,omitempty"`
}

// Row is a document of a writer: the key, and the number of increments.
type Row struct {
	Key        int64 `json:"key"`
	Increments int64 `json:"number"`
}

// Range returns the bounds of an event; missing bounds are MinKey and MaxKey.
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

// Trace holds the events of a run in order.
type Trace []Event

// Lines returns the events as JSON objects, one per line.
func (t Trace) Lines() []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	for _, e := range t {
		if err := encoder.Encode(e); err != nil {
			panic(err) // cannot happen: the fields are plain values
		}
	}
	return b.Bytes()
}

// Parse parses the result of Lines. Events without a number get the number of their line.
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

// Violation is the violation of a rule by a trace.
type Violation struct {
	// Rule is the name of the rule, such as C1 or "one runner".
	Rule string
	// Text describes the violation.
	Text string
	// Events are the numbers of the involved events. The shortest prefix that shows the violation ends
	// with the last one.
	Events []int
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: %s (events %v)", v.Rule, v.Text, v.Events)
}

// Checker returns the violations of one or several rules.
type Checker func(Trace) []Violation
