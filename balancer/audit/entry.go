package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// EntryKind says what an entry records.
type EntryKind string

// The kinds of entries.
const (
	// Began and Ended record the begin and the end of a run, that is, of a verb that changes the
	// cluster.
	Began EntryKind = "began"
	Ended EntryKind = "ended"
	// Sending is written before a command is sent, Answered after its reply.
	Sending  EntryKind = "sending"
	Answered EntryKind = "answered"
)

// Outcome says how a command or a run ended.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Failed  Outcome = "failed"
	Stopped Outcome = "stopped" // a run, at a limit or by the user
	// Unknown means that no reply arrived, or that no entry about a reply exists. The command may have
	// been carried out.
	Unknown Outcome = "unknown"
)

// Actor is the user who changes the cluster, and the host from which.
type Actor struct {
	User      string `json:"user" bson:"user"`                              // the operating system's user
	MongoUser string `json:"mongoUser,omitzero" bson:"mongoUser,omitempty"` // user@database
	Host      string `json:"host" bson:"host"`
	PID       int    `json:"pid" bson:"pid"`
}

// CurrentActor returns the actor of this process.
func CurrentActor() Actor {
	a := Actor{PID: os.Getpid(), User: fmt.Sprintf("uid %d", os.Getuid())}
	if u, err := user.Current(); err == nil {
		a.User = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		a.Host = host
	}
	return a
}

// Entry is one entry of the audit log.
type Entry struct {
	// ID identifies the run or the command. Both entries of a run or a command have the same ID.
	ID   string    `json:"id" bson:"id"`
	Run  string    `json:"run" bson:"run"`
	Kind EntryKind `json:"what" bson:"what"`
	At   time.Time `json:"at" bson:"at"`

	Actor `bson:",inline"`

	Verb string `json:"verb" bson:"verb"`
	// Plan is the id of the plan that is being applied. ApprovedHash is the hash of the plan, if the plan
	// was approved.
	Plan         string `json:"plan,omitzero" bson:"plan,omitempty"`
	ApprovedHash string `json:"approved,omitzero" bson:"approved,omitempty"`
	// Namespaces are the collections that the run or the command concerns; empty means all.
	Namespaces []string `json:"ns,omitempty" bson:"ns,omitempty"`
	Database   string   `json:"database,omitzero" bson:"database,omitempty"`
	Command    Command  `json:"command,omitzero" bson:"command,omitempty"`

	Outcome Outcome `json:"outcome,omitzero" bson:"outcome,omitempty"`
	Code    int32   `json:"code,omitzero" bson:"code,omitempty"`
	Error   string  `json:"error,omitzero" bson:"error,omitempty"`
	Millis  int64   `json:"millis,omitzero" bson:"millis,omitempty"`
}

// Command is a command as relaxed extended JSON. In JSON it is embedded as an object. In BSON it is
// stored as a string, because bounds of shard keys may have field names that a stored document can't
// have.
type Command string

// MarshalJSON returns the command.
func (c Command) MarshalJSON() ([]byte, error) {
	if c == "" {
		return []byte("null"), nil
	}
	return []byte(c), nil
}

// UnmarshalJSON stores the JSON of the command as it is.
func (c *Command) UnmarshalJSON(text []byte) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return err
	}
	*c = Command(compact.String())
	if *c == "null" {
		*c = ""
	}
	return nil
}

// recordedFields are the command fields that are recorded: they say what is changed, and how. Other
// fields may be confidential, and are left out.
var recordedFields = []string{
	"bounds", "chunkSize", "commit", "defragmentCollection", "enableAutoMerger", "enableBalancing", "find",
	"forceJumbo", "max", "middle", "min", "noBalance", "op", "shard", "secondaryThrottle", "start", "to", "toShard",
	"waitForDelete", "_secondaryThrottle", "_waitForDelete", "key", "unique", "numInitialChunks",
}

// CommandOf returns the recorded form of a command: its name and target, and the recorded fields.
// Statements of write commands are reduced to the _ids in their filters.
func CommandOf(command bson.D) (Command, error) {
	var doc bson.D
	for i, e := range command {
		switch {
		case i == 0, slices.Contains(recordedFields, e.Key):
			doc = append(doc, e)
		case e.Key == "updates" || e.Key == "deletes":
			doc = append(doc, bson.E{Key: e.Key, Value: shortStatements(e.Value)})
		}
	}
	if len(doc) == 0 {
		return "", nil
	}
	text, err := bson.MarshalExtJSON(doc, false, false)
	return Command(text), err
}

// recordedSettings are the fields in documents of the config database that runs set.
var recordedSettings = []string{"noBalance", "stopped", "mode", "enabled"}

// shortStatements returns the filters of writes to the config database and the recordedSettings that the
// writes set.
func shortStatements(value any) bson.A {
	list := bson.A{}
	statements, _ := value.(bson.A)
	for _, s := range statements {
		statement, _ := s.(bson.D)
		short := bson.D{}
		for _, e := range statement {
			fields, _ := e.Value.(bson.D)
			for _, f := range fields {
				if set, ok := f.Value.(bson.D); ok && e.Key == "u" {
					for _, s := range set {
						if slices.Contains(recordedSettings, s.Key) {
							short = append(short, s)
						}
					}
				}
				if e.Key == "q" && f.Key == "_id" {
					short = append(short, f)
				}
			}
		}
		list = append(list, short)
	}
	return list
}
