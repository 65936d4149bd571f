package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/placement"
	"shardsh/balancer/safefile"
)

const (
	// checkpointFormat is what the file calls itself.
	checkpointFormat = "shardsh audit 1"
	// maxKept is how many documents that look wrong a checkpoint has: with more of them it
	// stays where it is.
	maxKept = 200_000
	// maxCheckpoint is how large the file may be.
	maxCheckpoint = 1 << 28
)

// checkpoint is how far an audit of documents is. Of the collection that is being read it has the
// _ids that looked wrong, which are read again; of those before it what was found.
type checkpoint struct {
	Format string        `bson:"format"`
	Names  []string      `bson:"namespaces"`
	Done   []auditedColl `bson:"done"`
	At     *auditedPart  `bson:"at,omitempty"`

	file   string
	saved  time.Time
	resume bool // the file was there
}

// auditedColl is a collection that was read to its end.
type auditedColl struct {
	UUID bson.Binary `bson:"uuid"`
	// What is the JSON of an auditFound.
	What string `bson:"what"`
}

// auditFound is what was found out of one collection.
type auditFound struct {
	Collection        AuditCollection
	Findings          []placement.Finding
	Unseen, Unsettled []string
}

// auditedPart is a collection that was read up to a document.
type auditedPart struct {
	Namespace string           `bson:"ns"`
	UUID      bson.Binary      `bson:"uuid"`
	From      bson.Raw         `bson:"from"` // with the _id that is the next one
	Docs      int64            `bson:"docs"`
	Waiting   int64            `bson:"waiting"`
	Each      map[string]int64 `bson:"each"`
	Suspects  []bson.RawValue  `bson:"suspects"`
}

// resumeAudit reads the checkpoint of an earlier run; an empty one where there is none.
func (a *auditRun) resumeAudit() error {
	a.kept = &checkpoint{Format: checkpointFormat, Names: slices.Clone(a.Namespaces), file: a.Checkpoint}
	if a.Checkpoint == "" || !exists(a.Checkpoint) {
		return nil
	}
	text, err := safefile.Read(a.Checkpoint, maxCheckpoint, time.Minute)
	if err != nil {
		return err
	}
	var k checkpoint
	if err := bson.UnmarshalExtJSON(text, true, &k); err != nil || k.Format != checkpointFormat {
		return refuse("{checkpoint} %s is not that of an audit: remove it, or name another file", a.Checkpoint)
	}
	if !slices.Equal(k.Names, a.kept.Names) {
		return refuse("{checkpoint} %s is of an audit of other collections: remove it, or name another file", a.Checkpoint)
	}
	k.file, k.resume = a.Checkpoint, true
	a.kept = &k
	return nil
}

// save writes the file.
func (k *checkpoint) save(now time.Time) error {
	if k.file == "" {
		return nil
	}
	k.saved = now
	text, err := bson.MarshalExtJSON(k, true, false)
	if err == nil {
		err = safefile.Replace(k.file, writing(text))
	}
	if err != nil {
		return fmt.Errorf("keeping the progress: %w", err)
	}
	return nil
}

// remove ends it: the audit was read to its end.
func (k *checkpoint) remove() error {
	if k.file == "" {
		return nil
	}
	if err := os.Remove(k.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// earlier takes over what an earlier run has found out of a collection.
func (a *auditRun) earlier(c *placement.Collection) (done bool, err error) {
	for _, d := range a.kept.Done {
		if !d.UUID.Equal(c.UUID) {
			continue
		}
		var f auditFound
		if err := json.Unmarshal([]byte(d.What), &f); err != nil {
			return false, fmt.Errorf("%s: %w", a.kept.file, err)
		}
		if f.Collection.Namespace != c.Namespace { // it was renamed
			return false, nil
		}
		a.report.note(fmt.Sprintf("%s was read before: %s.", c.Namespace, humanize.Count(f.Collection.Docs, "document")))
		a.result.Collections = append(a.result.Collections, f.Collection)
		a.result.Unseen, a.result.Unsettled = append(a.result.Unseen, f.Unseen...), append(a.result.Unsettled, f.Unsettled...)
		a.add(f.Findings...)
		return true, nil
	}
	return false, nil
}

// finished keeps what was found out of a collection: all that the result has since it began.
func (a *auditRun) finished(c *placement.Collection, began AuditResult) error {
	if a.kept.file == "" {
		return nil
	}
	colls := a.result.Collections
	text, err := json.Marshal(auditFound{
		Collection: colls[len(colls)-1], Findings: a.result.Findings[len(began.Findings):],
		Unseen: a.result.Unseen[len(began.Unseen):], Unsettled: a.result.Unsettled[len(began.Unsettled):],
	})
	if err != nil {
		return err
	}
	a.kept.At = nil
	a.kept.Done = append(a.kept.Done, auditedColl{UUID: c.UUID, What: string(text)})
	return a.kept.save(a.cluster.Clock.Now())
}

// goOn returns where an earlier run has got to in a collection; nil for its beginning.
func (d *documentAudit) goOn() *auditedPart {
	at := d.kept.At
	if at == nil || at.Namespace != d.c.Namespace || !at.UUID.Equal(d.c.UUID) {
		return nil
	}
	d.read.Docs, d.read.Waiting = at.Docs, at.Waiting
	for id, n := range at.Each {
		d.each[catalog.ShardID(id)] = n
	}
	d.all = slices.Clone(at.Suspects)
	d.report.note(fmt.Sprintf("Goes on with %s after %s.", d.c.Namespace, humanize.Count(at.Docs, "document")))
	return at
}

// reached keeps that all before a document is read, now and then.
func (d *documentAudit) reached(doc bson.Raw) error {
	if d.kept.file == "" || len(d.all) > maxKept {
		return nil
	}
	id, err := bson.Marshal(bson.D{{Key: "_id", Value: doc.Lookup("_id")}})
	if err != nil {
		return err
	}
	at := &auditedPart{
		Namespace: d.c.Namespace, UUID: d.c.UUID, From: id, Docs: d.read.Docs, Waiting: d.read.Waiting,
		Each: map[string]int64{}, Suspects: d.all[:len(d.all):len(d.all)],
	}
	for id, n := range d.each {
		at.Each[string(id)] = n
	}
	d.kept.At = at
	if now := d.cluster.Clock.Now(); now.Sub(d.kept.saved) >= keepEvery {
		return d.kept.save(now)
	}
	return nil
}
