package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live/documents"
	"shardsh/balancer/live/holdings"
	"shardsh/balancer/pace"
	"shardsh/balancer/placement"
)

// maxSuspects is how many documents are gathered before they are read again.
const maxSuspects = 5000

var byID = bsonOf(bson.D{{Key: "_id", Value: int32(1)}})

func bsonOf(doc bson.D) bson.Raw {
	raw, err := bson.Marshal(doc)
	if err != nil { // of constants
		panic(err)
	}
	return raw
}

// documentAudit is the audit of one collection's documents.
type documentAudit struct {
	*auditRun
	c        *placement.Collection
	t        *ownerTable
	read     AuditCollection
	each     map[catalog.ShardID]int64 // documents that were read
	suspects []bson.RawValue           // _ids
	all      []bson.RawValue           // those of all that were found to look wrong, for a checkpoint
	record   *documentFindings
	size     int64 // of a document, on average
	step     int64
	opened   time.Time
	unique   []bson.Raw
}

// errSampled ends a sample.
var errSampled = errors.New("the sample is read")

// documents reads all copies of all documents of a collection.
func (a *auditRun) documents(ctx context.Context, c *placement.Collection) error {
	t, err := a.look(ctx, c.Namespace, a.tables[c.Namespace])
	if err != nil {
		return err
	}
	d := &documentAudit{auditRun: a, c: c, t: t, each: map[catalog.ShardID]int64{}, step: verifyStep,
		read: AuditCollection{Namespace: c.Namespace, Sharded: true}, record: newRecorded(a, c)}
	if err := d.measure(ctx); err != nil {
		return err
	}
	kept, apart, untold := d.uniqueIndexes()
	d.unique = kept
	for _, name := range untold {
		d.read.Notes = append(d.read.Notes, fmt.Sprintf("the unique index %s is not compared between shards", name))
	}
	err = d.scan(ctx)
	if errors.Is(err, errSampled) {
		err = nil
	}
	if err == nil {
		err = d.settle(ctx)
	}
	if err == nil && a.Sample == 0 {
		err = d.apart(ctx, apart)
	}
	if err == nil && a.Sample == 0 && !a.Secondary {
		err = d.counts(ctx)
	}
	a.result.Collections = append(a.result.Collections, d.read)
	return errors.Join(err, d.record.finish())
}

// measure finds out how large a document is.
func (d *documentAudit) measure(ctx context.Context) error {
	size, err := again(ctx, d.reread, func() (int64, error) {
		docs, bytes, err := documents.Sizes(ctx, d.cluster.Client, d.c.Namespace)
		return bytes / max(1, docs), err
	})
	d.size = max(1, size)
	return err
}

func (d *documentAudit) uniqueIndexes() (kept, apart []bson.Raw, untold []string) {
	seen := map[string]bool{}
	var all []bson.Raw
	for _, h := range d.c.Holdings {
		for _, spec := range h.Indexes {
			if n := spec.Lookup("name").String(); !seen[n] {
				seen[n] = true
				all = append(all, spec)
			}
		}
	}
	return placement.UniqueIndexes(d.t.coll.Pattern, all)
}

func (d *documentAudit) merge(shards []*holdings.Shard, order bson.Raw, from bson.Raw) *holdings.Merge {
	return &holdings.Merge{
		Namespace: d.c.Namespace, Shards: shards, Order: order, From: from, Secondary: d.Secondary,
		Fields: append(d.t.coll.Pattern.Fields(), holdings.FieldsOf(order)...), MaxTime: 2 * cursorAge, Again: d.readsOn,
	}
}

// readsOn waits before a read that broke goes on.
func (d *documentAudit) readsOn(ctx context.Context, failures int, err error) error {
	if err := d.reread.wait(ctx, failures, err); err != nil {
		return fmt.Errorf("reading %s: %w", d.c.Namespace, err)
	}
	return nil
}

// scan judges all documents, and gathers those that look wrong.
func (d *documentAudit) scan(ctx context.Context) error {
	from, err := d.begin(ctx)
	if err != nil {
		return err
	}
	if at := d.goOn(); at != nil {
		from = at.From
		for ids := range slices.Chunk(at.Suspects, maxSuspects) {
			d.suspects = ids
			if err := d.settle(ctx); err != nil {
				return err
			}
		}
	}
	d.opened = d.cluster.Clock.Now()
	m := d.merge(d.shards.Seen(), byID, from)
	groups := int64(0)
	return m.Each(ctx, func(copies []placement.Copy) error {
		if groups++; d.Sample > 0 && groups > d.Sample {
			return errSampled
		}
		docs := int64(len(copies))
		if d.step+docs*d.size >= cmp.Or(d.portion, verifyStep) {
			if err := d.reached(copies[0].Doc); err != nil {
				return err
			}
		}
		if err := d.pace(ctx, m, docs); err != nil {
			return err
		}
		for _, c := range copies {
			d.each[c.Shard]++
		}
		v := d.t.judge.Of(copies)
		if v.Sound() {
			d.read.Waiting += int64(len(copies)) - int64(v.Owned())
			return nil
		}
		id := copies[0].Doc.Lookup("_id")
		d.suspects = append(d.suspects, id)
		if d.kept.file != "" {
			d.all = append(d.all, id)
		}
		if len(d.suspects) < maxSuspects {
			return nil
		}
		m.Reopen(ctx) // for it takes a while
		return d.settle(ctx)
	})
}

// begin returns where a sample begins.
func (d *documentAudit) begin(ctx context.Context) (bson.Raw, error) {
	if d.Sample == 0 {
		return nil, nil
	}
	for _, s := range d.shards.Seen() {
		from, err := s.Random(ctx, d.c.Namespace)
		if err != nil || from != nil {
			return from, err
		}
	}
	return nil, nil
}

// pace counts documents, and waits until more may be read.
func (d *documentAudit) pace(ctx context.Context, m *holdings.Merge, docs int64) error {
	d.read.Docs += docs
	d.docsRead += docs
	if d.step += docs * d.size; d.step >= cmp.Or(d.portion, verifyStep) {
		d.step = 0
		began := d.cluster.Clock.Now()
		move := pace.Move{Namespace: d.c.Namespace, Stays: true}
		if err := d.gate.Enter(ctx, move); err != nil {
			return err
		}
		d.gate.Leave(move, nil)
		d.report.Report(Auditing{d.c.Namespace, d.docsRead, d.docs})
		if now := d.cluster.Clock.Now(); now.Sub(began) >= cursorIdle || now.Sub(d.opened) >= cursorAge {
			m.Reopen(ctx)
			d.opened = now
		}
	}
	return d.rate.slow(ctx, docs*d.size)
}

// Auditing is how far a read is.
type Auditing struct {
	Namespace string
	// Docs were read of all collections, of about so many.
	Docs, Of int64
}

func (Auditing) isEvent() {}
