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
	// checkpointFormat identifies the file format.
	checkpointFormat = "shardsh audit 1"
	// maxCheckpointSuspects is the maximum number of suspects in a checkpoint. With more suspects, the
	// checkpoint is not updated any more.
	maxCheckpointSuspects = 200_000
	// maxCheckpointBytes is the maximum size of the file.
	maxCheckpointBytes = 1 << 28
)

// checkpoint is the progress of a document audit: the findings of finished collections, and for the
// current collection the position and the suspect _ids, which are read again.
type checkpoint struct {
	Format string        `bson:"format"`
	Names  []string      `bson:"namespaces"`
	Done   []auditedColl `bson:"done"`
	At     *auditedPart  `bson:"at,omitempty"`

	file   string
	saved  time.Time
	resume bool // the file existed
}

// auditedColl is a collection that was read completely.
type auditedColl struct {
	UUID bson.Binary `bson:"uuid"`
	// ResultJSON is the JSON of an auditedResult.
	ResultJSON string `bson:"what"`
}

// auditedResult is the result of one collection.
type auditedResult struct {
	Collection        AuditCollection
	Findings          []placement.Finding
	Unseen, Unsettled []string
}

// auditedPart is a collection that was read up to a document.
type auditedPart struct {
	Namespace      string           `bson:"ns"`
	UUID           bson.Binary      `bson:"uuid"`
	From           bson.Raw         `bson:"from"` // contains the next _id
	Docs           int64            `bson:"docs"`
	PendingOrphans int64            `bson:"waiting"`
	DocsByShard    map[string]int64 `bson:"each"`
	Suspects       []bson.RawValue  `bson:"suspects"`
}

// resumeAudit reads the checkpoint of an earlier run. The checkpoint is empty if there is no file.
func (a *auditRun) resumeAudit() error {
	a.checkpoint = &checkpoint{Format: checkpointFormat, Names: slices.Clone(a.Namespaces), file: a.CheckpointFile}
	if a.CheckpointFile == "" || !fileExists(a.CheckpointFile) {
		return nil
	}
	text, err := safefile.Read(a.CheckpointFile, maxCheckpointBytes, time.Minute)
	if err != nil {
		return err
	}
	var k checkpoint
	if err := bson.UnmarshalExtJSON(text, true, &k); err != nil || k.Format != checkpointFormat {
		return refuse("{checkpoint} %s is not the checkpoint of an audit: remove it, or name another file", a.CheckpointFile)
	}
	if !slices.Equal(k.Names, a.checkpoint.Names) {
		return refuse("{checkpoint} %s is of an audit of other collections: remove it, or name another file",
			a.CheckpointFile)
	}
	k.file, k.resume = a.CheckpointFile, true
	a.checkpoint = &k
	return nil
}

// save writes the checkpoint to its file.
func (c *checkpoint) save(now time.Time) error {
	if c.file == "" {
		return nil
	}
	c.saved = now
	text, err := bson.MarshalExtJSON(c, true, false)
	if err == nil {
		err = safefile.Replace(c.file, textWriter(text))
	}
	if err != nil {
		return fmt.Errorf("saving the checkpoint: %w", err)
	}
	return nil
}

// remove removes the file after the audit has completed.
func (c *checkpoint) remove() error {
	if c.file == "" {
		return nil
	}
	if err := os.Remove(c.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// restoreResult restores the result of a collection from an earlier run. done is false if there is
// none.
func (a *auditRun) restoreResult(c *placement.Collection) (done bool, err error) {
	for _, d := range a.checkpoint.Done {
		if !d.UUID.Equal(c.UUID) {
			continue
		}
		var f auditedResult
		if err := json.Unmarshal([]byte(d.ResultJSON), &f); err != nil {
			return false, fmt.Errorf("%s: %w", a.checkpoint.file, err)
		}
		if f.Collection.Namespace != c.Namespace { // the collection was renamed
			return false, nil
		}
		a.report.note(
			fmt.Sprintf("%s was read by an earlier run: %s.", c.Namespace, humanize.Count(f.Collection.Docs, "document")),
		)
		a.result.Collections = append(a.result.Collections, f.Collection)
		a.result.Unchecked, a.result.Unsettled = append(a.result.Unchecked, f.Unseen...),
			append(a.result.Unsettled, f.Unsettled...)
		a.addFindings(f.Findings...)
		return true, nil
	}
	return false, nil
}

// saveCollection saves the result of a collection: everything added to the result since it was before.
func (a *auditRun) saveCollection(c *placement.Collection, before AuditResult) error {
	if a.checkpoint.file == "" {
		return nil
	}
	colls := a.result.Collections
	text, err := json.Marshal(auditedResult{
		Collection: colls[len(colls)-1], Findings: a.result.Findings[len(before.Findings):],
		Unseen: a.result.Unchecked[len(before.Unchecked):], Unsettled: a.result.Unsettled[len(before.Unsettled):],
	})
	if err != nil {
		return err
	}
	a.checkpoint.At = nil
	a.checkpoint.Done = append(a.checkpoint.Done, auditedColl{UUID: c.UUID, ResultJSON: string(text)})
	return a.checkpoint.save(a.cluster.Clock.Now())
}

// resumePoint returns the position that an earlier run has reached in a collection; nil for the
// beginning.
func (d *documentAudit) resumePoint() *auditedPart {
	at := d.checkpoint.At
	if at == nil || at.Namespace != d.coll.Namespace || !at.UUID.Equal(d.coll.UUID) {
		return nil
	}
	d.summary.Docs, d.summary.PendingOrphans = at.Docs, at.PendingOrphans
	d.docsExpected = max(0, d.docsExpected-at.Docs)
	for id, n := range at.DocsByShard {
		d.docsByShard[catalog.ShardID(id)] = n
	}
	d.allSuspects = slices.Clone(at.Suspects)
	d.report.note(fmt.Sprintf("Resuming %s after %s.", d.coll.Namespace, humanize.Count(at.Docs, "document")))
	return at
}

// saveProgress saves, at intervals, the position: everything before doc has been read.
func (d *documentAudit) saveProgress(doc bson.Raw) error {
	if d.checkpoint.file == "" || len(d.allSuspects) > maxCheckpointSuspects {
		return nil
	}
	id, err := bson.Marshal(bson.D{{Key: "_id", Value: doc.Lookup("_id")}})
	if err != nil {
		return err
	}
	at := &auditedPart{
		Namespace: d.coll.Namespace, UUID: d.coll.UUID, From: id, Docs: d.summary.Docs,
		PendingOrphans: d.summary.PendingOrphans,
		DocsByShard:    map[string]int64{}, Suspects: d.allSuspects[:len(d.allSuspects):len(d.allSuspects)],
	}
	for id, n := range d.docsByShard {
		at.DocsByShard[string(id)] = n
	}
	d.checkpoint.At = at
	if now := d.cluster.Clock.Now(); now.Sub(d.checkpoint.saved) >= saveInterval {
		return d.checkpoint.save(now)
	}
	return nil
}
