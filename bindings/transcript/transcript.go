// Package transcript records the commands that a program sends to a cluster and their replies, one JSON
// document a line.
package transcript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"shardsh/balancer/mock/commands"
	"shardsh/bindings/server"
)

// maxDocumentBytes is the maximum size of a command or reply that is kept unchanged.
const maxDocumentBytes = 16 << 10

// Writer writes a transcript. It is safe for use by several clients at once.
type Writer struct {
	out   io.WriteCloser
	table map[string]*commands.Command
	now   func() time.Time

	mu         sync.Mutex
	number     int
	unanswered map[int64]*entry // by the driver's request id
	failure    error
}

// entry is one line. A command that changes something has two entries with the same number: one before
// it is sent, one with its reply.
type entry struct {
	N      int       `bson:"n"`
	Time   time.Time `bson:"time"`
	DB     string    `bson:"db,omitempty"`
	Name   string    `bson:"command,omitempty"`
	Sent   any       `bson:"sent,omitempty"`
	Millis *float64  `bson:"ms,omitempty"`
	Reply  any       `bson:"reply,omitempty"`
	Error  string    `bson:"error,omitempty"`
}

// Head is the first line of a run.
type Head struct {
	Program   string    `bson:"shardsh"`
	Time      time.Time `bson:"time"`
	Mode      string    `bson:"mode,omitempty"` // read-only, dry-run, confirm
	Arguments []string  `bson:"arguments"`
}

// Open opens a file for appending. It creates the file if it does not exist; only its owner may read
// it.
func Open(path string, now func() time.Time) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("%s can be read by others: chmod 600 %s, or name another file", path, path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return New(f, now), nil
}

// New returns a Writer that closes out at the end.
func New(out io.WriteCloser, now func() time.Time) *Writer {
	return &Writer{out: out, table: commands.ByName(), now: now, unanswered: map[int64]*entry{}}
}

// WriteHead writes the first line of a run.
func (w *Writer) WriteHead(h Head) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h.Time = w.now()
	for i, word := range h.Arguments {
		h.Arguments[i] = server.Redact(word)
	}
	w.write(h)
}

// Close records commands without a reply, and returns the first error of all writes.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, e := range w.unanswered {
		w.writeAnswer(id, e, 0, nil, "no answer before the end")
	}
	return errors.Join(w.failure, w.out.Close())
}

// Monitor returns the monitor that records a client's commands.
func (w *Writer) Monitor() *event.CommandMonitor {
	return &event.CommandMonitor{
		Started: func(_ context.Context, e *event.CommandStartedEvent) { w.onStarted(e) },
		Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
			w.onFinished(&e.CommandFinishedEvent, e.Reply, "")
		},
		Failed: func(_ context.Context, e *event.CommandFailedEvent) {
			w.onFinished(&e.CommandFinishedEvent, server.ReplyOf(e.Failure), e.Failure.Error())
		},
	}
}

func (w *Writer) onStarted(e *event.CommandStartedEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.number++
	begun := &entry{N: w.number, Time: w.now(), DB: e.DatabaseName, Name: e.CommandName, Sent: boundedCopy(e.Command)}
	if e.CommandName != "endSessions" && !commands.IsReadOnly(w.table, e.Command) {
		w.write(begun)
		begun.DB, begun.Name, begun.Sent = "", "", nil // they are in the first entry
	}
	w.unanswered[e.RequestID] = begun
}

func (w *Writer) onFinished(e *event.CommandFinishedEvent, reply bson.Raw, failure string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if begun := w.unanswered[e.RequestID]; begun != nil {
		w.writeAnswer(e.RequestID, begun, e.Duration, reply, failure)
	}
}

func (w *Writer) writeAnswer(id int64, e *entry, took time.Duration, reply bson.Raw, failure string) {
	delete(w.unanswered, id)
	ms := float64(took.Microseconds()) / 1000
	e.Millis, e.Error = &ms, server.Redact(failure)
	if reply != nil {
		e.Reply = boundedCopy(reply)
	}
	w.write(e)
}

// write appends a line in one write, so that runs which share a file do not mix.
func (w *Writer) write(line any) {
	text, err := bson.MarshalExtJSON(line, false, false)
	if err == nil {
		_, err = w.out.Write(append([]byte(server.Redact(string(text))), '\n'))
	}
	if w.failure == nil && err != nil {
		w.failure = fmt.Errorf("the transcript has gaps: %w", err)
	}
}

// omittedFields are protocol fields that the transcript omits.
var omittedFields = []string{"lsid", "$clusterTime", "$db", "operationTime"}

// boundedCopy returns the recorded form of a command or a reply, without secrets. Of a long document,
// it keeps the short fields, and the sizes of the others.
func boundedCopy(doc bson.Raw) any {
	elems, err := commands.WithoutSecrets(doc).Elements()
	if err != nil {
		return nil
	}
	kept := bson.D{}
	left := maxDocumentBytes
	for _, e := range elems {
		n := len(e.Value().Value)
		switch {
		case slices.Contains(omittedFields, e.Key()):
			continue
		case n > left:
			kept = append(kept, bson.E{Key: e.Key(), Value: bson.D{{Key: "cut", Value: int64(n)}}})
			continue
		}
		left -= len(e)
		kept = append(kept, bson.E{Key: e.Key(), Value: e.Value()})
	}
	return kept
}
