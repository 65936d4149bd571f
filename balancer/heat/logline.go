package heat

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// LoggedOperation is an operation in a line of a log.
type LoggedOperation struct {
	Namespace string
	Statement
	// FromShard says that a shard wrote the line. An operation of a router that targets several shards
	// is in the log of each of them.
	FromShard bool
}

// slowQueryMessage is the message of operations in logs since 4.4, when logs became JSON.
var slowQueryMessage = []byte(`"Slow query"`)

// logLine is a line of a server's log in the format of the manual, or a document of system.profile.
type logLine struct {
	Message string `json:"msg"`
	At      struct {
		Date json.RawMessage `json:"$date"`
	} `json:"t"`
	Attr operation `json:"attr"`
}

// operation holds the fields that log lines and profiler documents share.
type operation struct {
	Type      string          `json:"type"` // in a log line
	Op        string          `json:"op"`   // in a profiler document
	Namespace string          `json:"ns"`
	Command   json.RawMessage `json:"command"`
	Locks     json.RawMessage `json:"locks"`
	Time      struct {
		Date json.RawMessage `json:"$date"`
	} `json:"ts"`
}

// ParseLogLine returns the operations in a line of a log whose filters name the keys: a line of a
// server's log ("Slow query"), or a document of system.profile in the format of mongoexport. Other
// lines, and truncated operations and operations without a filter, give none.
func ParseLogLine(line []byte) []LoggedOperation {
	if !bytes.Contains(line, slowQueryMessage) && !bytes.Contains(line, []byte(`"op"`)) {
		return nil
	}
	var parsed logLine
	if json.Unmarshal(line, &parsed) != nil {
		return nil
	}
	op, at := parsed.Attr, parseDate(parsed.At.Date)
	if parsed.Message != "Slow query" {
		if json.Unmarshal(line, &op) != nil || op.Op == "" {
			return nil
		}
		at = parseDate(op.Time.Date)
	}
	return op.statements(at)
}

func (op operation) statements(at time.Time) (list []LoggedOperation) {
	command := parseDocument(op.Command)
	if command == nil {
		return nil
	}
	one := LoggedOperation{Namespace: op.Namespace, FromShard: op.Locks != nil, Statement: Statement{At: at}}
	kind := strings.ToLower(op.Type + op.Op)
	if kind == "update" || kind == "remove" { // a statement that a shard executed
		one.FromShard, one.Kind, one.Removes = true, Write, kind == "remove"
		one.Filter, _ = command.Lookup("q").DocumentOK()
		one.SimpleCollation = isSimpleCollation(command.Lookup("collation"))
		return one.ifFiltered()
	}
	if command.Lookup("getMore").Type != 0 {
		return nil // its first batch has its own line
	}
	elements, err := command.Elements()
	if err != nil || len(elements) == 0 {
		return nil
	}
	name := elements[0].Key()
	field, reads := filterFields[name]
	one.SimpleCollation = isSimpleCollation(command.Lookup("collation"))
	switch {
	case name == "update" || name == "delete":
		for _, s := range ParseSampledQuery(sampledQueryDoc(name, command)) {
			if s.At = at; s.Filter != nil {
				list = append(list, LoggedOperation{one.Namespace, s, one.FromShard})
			}
		}
		return list
	case name == "findAndModify" || name == "findandmodify":
		one.Kind = Write
		one.Removes, _ = command.Lookup("remove").BooleanOK()
		field = "query"
	case name == "aggregate":
		one.Filter = firstMatch(command)
	case !reads:
		return nil
	}
	if field != "" {
		one.Filter, _ = command.Lookup(field).DocumentOK()
	}
	return one.ifFiltered()
}

// filterFields maps commands that read to their filter field.
var filterFields = map[string]string{"find": "filter", "count": "query", "distinct": "query"}

func sampledQueryDoc(name string, command bson.Raw) bson.Raw {
	doc, _ := bson.Marshal(bson.D{{Key: "cmdName", Value: name}, {Key: "cmd", Value: command}})
	return doc
}

// ifFiltered returns the statement if it has a filter.
func (l LoggedOperation) ifFiltered() []LoggedOperation {
	if l.Filter == nil {
		return nil
	}
	return []LoggedOperation{l}
}

// firstMatch returns the filter of the pipeline's first stage; empty if that stage is no $match.
func firstMatch(command bson.Raw) bson.Raw {
	stages := catalog.Documents(command.Lookup("pipeline"))
	if len(stages) > 0 {
		if match, ok := stages[0].Lookup("$match").DocumentOK(); ok {
			return match
		}
	}
	return bson.Raw{5, 0, 0, 0, 0}
}

// parseDocument parses extended JSON; it returns nil for invalid JSON.
func parseDocument(text json.RawMessage) bson.Raw {
	var doc bson.Raw
	if len(text) == 0 || bson.UnmarshalExtJSON(text, false, &doc) != nil {
		return nil
	}
	return doc
}

// parseDate parses the value of a $date: a string, or milliseconds in canonical form.
func parseDate(date json.RawMessage) time.Time {
	var text string
	if json.Unmarshal(date, &text) == nil {
		for _, layout := range []string{"2006-01-02T15:04:05.999Z07:00", "2006-01-02T15:04:05.999-0700"} {
			if at, err := time.Parse(layout, text); err == nil {
				return at
			}
		}
		return time.Time{}
	}
	var long struct {
		Milliseconds int64 `json:"$numberLong,string"`
	}
	if json.Unmarshal(date, &long) == nil && long.Milliseconds > 0 {
		return time.UnixMilli(long.Milliseconds)
	}
	return time.Time{}
}

// SamplesOf returns the samples of logged operations without duplicates. Each of the n shards that an
// operation targets has logged the operation, so only every nth entry is kept.
func SamplesOf(table *catalog.RoutingTable, list []LoggedOperation) (samples []Sample) {
	seen := map[int]int{}
	for _, l := range list {
		sample := NewSample(table.Pattern(), l.Statement)
		if l.FromShard {
			n := sample.shardCount(table)
			if seen[n]++; seen[n]%n != 0 {
				continue
			}
		}
		samples = append(samples, sample)
	}
	return samples
}

// shardCount returns how many shards a sample targets, at least 1.
func (s Sample) shardCount(table *catalog.RoutingTable) int {
	switch {
	case s.isScattered():
		return max(1, len(table.Owners()))
	case !s.Key.IsZero():
		return 1
	}
	var owners []catalog.ShardID
	for _, r := range s.Ranges {
		owners = append(owners, table.OwnersIn(r.From, r.To)...)
	}
	slices.Sort(owners)
	return max(1, len(slices.Compact(owners)))
}
