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
	"shardsh/balancer/keyorder"
	"shardsh/balancer/live/documents"
	"shardsh/balancer/live/holdings"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/placement"
)

// maxSuspects is the number of suspect documents that are collected before they are read again.
const maxSuspects = 5000

var idPattern = bsonOf(bson.D{{Key: "_id", Value: int32(1)}})

func bsonOf(doc bson.D) bson.Raw {
	raw, err := bson.Marshal(doc)
	if err != nil { // cannot fail for constants
		panic(err)
	}
	return raw
}

// documentAudit is the audit of one collection's documents.
type documentAudit struct {
	*auditRun
	coll            *placement.Collection
	table           *ownerTable
	summary         AuditCollection
	docsByShard     map[catalog.ShardID]int64 // documents read, by shard
	suspects        []bson.RawValue           // _ids
	allSuspects     []bson.RawValue           // _ids of all suspects so far, for a checkpoint
	findings        *documentFindings
	averageDocBytes int64 // average size of a document
	bytesSinceCheck int64
	cursorOpened    time.Time
	enforcedIndexes []bson.Raw
	collation       bson.Raw // of the collection; nil is the simple one
}

// errSampled ends the read of a sample.
var errSampled = errors.New("the sample is read")

// auditDocuments reads all documents of a collection on all shards, including copies.
func (a *auditRun) auditDocuments(ctx context.Context, c *placement.Collection) error {
	t, err := a.readTable(ctx, c.Namespace, a.tables[c.Namespace])
	if err != nil {
		return err
	}
	d := &documentAudit{
		auditRun:        a,
		coll:            c,
		table:           t,
		docsByShard:     map[catalog.ShardID]int64{},
		bytesSinceCheck: readStepBytes,
		summary: AuditCollection{
			Namespace: c.Namespace,
			Sharded:   c.Tracked && !c.Unsplittable,
		},
		findings:  newDocumentFindings(a, c),
		collation: c.Collation(),
	}
	if err := d.measureDocuments(ctx); err != nil {
		return err
	}
	kept, apart, unseen := d.uniqueIndexes()
	d.enforcedIndexes = kept
	if d.collation != nil {
		d.enforcedIndexes = append(d.enforcedIndexes, d.idIndex())
	}
	for _, name := range unseen {
		d.summary.Notes = append(d.summary.Notes, fmt.Sprintf("the unique index %s is not compared between shards", name))
	}
	err = d.scan(ctx)
	if errors.Is(err, errSampled) {
		err = nil
	}
	if err == nil {
		err = d.rereadUntilStable(ctx)
	}
	if err == nil && a.SampleDocs == 0 {
		err = d.checkShardLocalIndexes(ctx, apart)
	}
	if err == nil && a.SampleDocs == 0 && !a.Secondary {
		err = d.checkCounts(ctx)
	}
	a.result.Collections = append(a.result.Collections, d.summary)
	return errors.Join(err, d.findings.finish())
}

// measureDocuments determines the average size of a document.
func (d *documentAudit) measureDocuments(ctx context.Context) error {
	size, err := retryRead(ctx, d.readRetry, func() (int64, error) {
		docs, bytes, err := documents.ReadSizes(ctx, d.cluster.Client, d.coll.Namespace)
		if d.untracked[d.coll.Namespace] && mongoerr.Is(err, mongoerr.NamespaceNotFound) {
			err = nil // the primary of the shard does not have the collection
		}
		return bytes / max(1, docs), err
	})
	d.averageDocBytes = max(1, size)
	return err
}

func (d *documentAudit) uniqueIndexes() (enforced, perShard []bson.Raw, unseen []string) {
	seen := map[string]bool{}
	var all []bson.Raw
	for _, h := range d.coll.Holdings {
		for _, spec := range h.Indexes {
			if n := spec.Lookup("name").String(); !seen[n] {
				seen[n] = true
				all = append(all, spec)
			}
		}
	}
	return placement.UniqueIndexes(d.table.coll.Pattern, all)
}

// idIndex is the index on _id, as listIndexes has it, with the collation of the collection.
func (d *documentAudit) idIndex() bson.Raw {
	spec := bson.D{{Key: "name", Value: "_id_"}, {Key: "key", Value: idPattern}}
	if d.collation != nil {
		spec = append(spec, bson.E{Key: "collation", Value: d.collation})
	}
	return bsonOf(spec)
}

// newMergedReader returns a reader of the documents in the order of an index, from a key on.
func (d *documentAudit) newMergedReader(shards []*holdings.Shard, index, from bson.Raw) *holdings.MergedReader {
	order, _ := index.Lookup("key").DocumentOK()
	name, _ := index.Lookup("name").StringValueOK()
	return &holdings.MergedReader{
		Namespace: d.coll.Namespace,
		Shards:    shards,
		Order:     order,
		IndexName: name,
		Collation: d.collationOf(index),
		From:      from,
		Secondary: d.Secondary,
		Fields: append(
			d.table.coll.Pattern.Fields(),
			catalog.FieldNames(order)...),
		MaxTime: 2 * maxCursorAge,
		OnError: d.waitBeforeRetry,
	}
}

// waitBeforeRetry waits before a failed read is retried.
func (d *documentAudit) waitBeforeRetry(ctx context.Context, failures int, err error) error {
	if err := d.readRetry.wait(ctx, failures, err); err != nil {
		return fmt.Errorf("reading %s: %w", d.coll.Namespace, err)
	}
	return nil
}

// scan checks all documents, and collects the suspicious ones.
func (d *documentAudit) scan(ctx context.Context) error {
	from, err := d.sampleStart(ctx)
	if err != nil {
		return err
	}
	if at := d.resumePoint(); at != nil {
		from = at.From
		for ids := range slices.Chunk(at.Suspects, maxSuspects) {
			d.suspects = ids
			if err := d.rereadUntilStable(ctx); err != nil {
				return err
			}
		}
	}
	groups := int64(0)
	isOver := func(c placement.Copy) bool {
		groups++
		return d.SampleDocs > 0 && (groups > d.SampleDocs || groups > 1 && c.Doc.Lookup("_id").Equal(from.Lookup("_id")))
	}
	err = d.scanFrom(ctx, from, isOver)
	if err == nil && d.SampleDocs > 0 && from != nil { // the sample began near the end
		err = d.scanFrom(ctx, nil, isOver)
	}
	return err
}

// scanFrom is scan from an _id on. isOver says before each document whether the sample is complete.
func (d *documentAudit) scanFrom(ctx context.Context, from bson.Raw, isOver func(placement.Copy) bool) error {
	d.cursorOpened = d.cluster.Clock.Now()
	m := d.newMergedReader(d.shards.ReadableShards(), d.idIndex(), from)
	m.IndexName = "" // buckets of time series have an order of _id, and no index of that name
	return m.Each(ctx, func(copies []placement.Copy) error {
		if isOver(copies[0]) {
			return errSampled
		}
		docs := int64(len(copies))
		if d.bytesSinceCheck+docs*d.averageDocBytes >= cmp.Or(d.stepBytes, readStepBytes) {
			if err := d.saveProgress(copies[0].Doc); err != nil {
				return err
			}
		}
		if err := d.pace(ctx, m, docs); err != nil {
			return err
		}
		for _, c := range copies {
			d.docsByShard[c.Shard]++
		}
		return d.examine(ctx, m, copies)
	})
}

// examine judges the documents at one place of the order. With a collation these may be several, whose _ids are
// equal by it.
func (d *documentAudit) examine(ctx context.Context, m *holdings.MergedReader, copies []placement.Copy) error {
	if d.collation == nil {
		d.judgeCopies(copies)
	} else if err := d.judgeSameByCollation(ctx, m, copies); err != nil {
		return err
	}
	if len(d.suspects) < maxSuspects {
		return nil
	}
	m.CloseCursors(ctx) // reading again takes a while
	return d.rereadUntilStable(ctx)
}

// judgeCopies judges the copies of one document, and keeps its _id if they look wrong.
func (d *documentAudit) judgeCopies(copies []placement.Copy) placement.Classification {
	v := d.table.judge.Classify(copies)
	if v.IsSound() {
		d.summary.PendingOrphans += int64(len(copies)) - int64(v.OwnedCount())
		return v
	}
	id := copies[0].Doc.Lookup("_id")
	id.Value = slices.Clone(id.Value) // the document is valid for a while only
	d.suspects = append(d.suspects, id)
	if d.checkpoint.file != "" {
		d.allSuspects = append(d.allSuspects, id)
	}
	return v
}

// judgeSameByCollation judges documents whose _ids are equal by the collation.
func (d *documentAudit) judgeSameByCollation(ctx context.Context, m *holdings.MergedReader,
	copies []placement.Copy) error {
	owned := 0
	for _, same := range groupByExactID(copies) {
		if d.judgeCopies(same).OwnedCount() > 0 {
			owned++
		}
	}
	if owned < 2 {
		return nil
	}
	return d.confirmCollision(ctx, m, d.idIndex(), copies)
}

// groupByExactID groups documents by their _id.
func groupByExactID(copies []placement.Copy) (groups [][]placement.Copy) {
	for _, c := range copies {
		i := slices.IndexFunc(groups, func(same []placement.Copy) bool {
			return keyorder.Compare(same[0].Doc.Lookup("_id"), c.Doc.Lookup("_id")) == 0
		})
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// sampleStart returns where a sample begins.
func (d *documentAudit) sampleStart(ctx context.Context) (bson.Raw, error) {
	if d.SampleDocs == 0 {
		return nil, nil
	}
	for _, s := range d.shards.ReadableShards() {
		from, err := s.ReadRandomID(ctx, d.coll.Namespace)
		if err != nil || from != nil {
			return from, err
		}
	}
	return nil, nil
}

// pace counts the documents that were read, and waits until more may be read.
func (d *documentAudit) pace(ctx context.Context, m *holdings.MergedReader, docs int64) error {
	d.summary.Docs += docs
	d.docsRead += docs
	if d.bytesSinceCheck += docs * d.averageDocBytes; d.bytesSinceCheck >= cmp.Or(d.stepBytes, readStepBytes) {
		d.bytesSinceCheck = 0
		began := d.cluster.Clock.Now()
		move := pace.Move{Namespace: d.coll.Namespace, MovesNothing: true}
		if err := d.gate.Enter(ctx, move); err != nil {
			return err
		}
		d.gate.Leave(move, nil)
		d.report.Report(AuditProgress{d.coll.Namespace, d.docsRead, d.docsExpected})
		if now := d.cluster.Clock.Now(); now.Sub(began) >= maxCursorIdle || now.Sub(d.cursorOpened) >= maxCursorAge {
			m.CloseCursors(ctx)
			d.cursorOpened = now
		}
	}
	return d.rate.throttle(ctx, docs*d.averageDocBytes)
}

// AuditProgress is the progress of a read.
type AuditProgress struct {
	Namespace string
	// Docs is the number of documents read in all collections. Total is the approximate total.
	Docs, Total int64
}

func (AuditProgress) isEvent() {}
