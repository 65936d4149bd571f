package action

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/humanize"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/live/documents"
	"shardsh/balancer/live/holdings"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/placement"
)

// maxIDsPerFind is the maximum number of _ids in one find command.
const maxIDsPerFind = 1000

// deletionLookback is the time before now from which deletions are searched if range deletions do not
// record when their migrations began.
const deletionLookback = time.Hour

// suspectDocument is a suspicious document.
type suspectDocument struct {
	id       bson.RawValue
	copies   []placement.Copy
	verdict  placement.Classification
	lastSeen string // its state in the latest read
}

// rereadUntilStable reads suspects again until two consecutive reads agree while nothing moves, and records the
// suspects that are still wrong.
func (d *documentAudit) rereadUntilStable(ctx context.Context) error {
	list := make([]*suspectDocument, 0, len(d.suspects))
	for _, id := range d.suspects {
		list = append(list, &suspectDocument{id: id})
	}
	d.suspects = nil
	for attempt := 0; attempt <= d.MaxRereads && len(list) > 0; attempt++ {
		if attempt > 0 {
			if err := d.cluster.Clock.Sleep(ctx, d.RereadPause); err != nil {
				return err
			}
		}
		still, sure, err := d.readAgain(ctx, list)
		if err != nil {
			return err
		}
		if err := d.recordConfirmed(ctx, sure); err != nil {
			return err
		}
		list = still
	}
	if len(list) > 0 {
		d.addUnsettled("%s of %s were inconsistent, but changed between reads, for example _id %s",
			humanize.Count(len(list), "document"), d.coll.Namespace,
			list[0].id)
	}
	return nil
}

// readAgain reads all copies of suspects. sure contains the suspects in the same wrong state as before.
// Suspects that are correct now are dropped.
func (d *documentAudit) readAgain(
	ctx context.Context, list []*suspectDocument,
) (still, sure []*suspectDocument, err error) {
	before, err := d.readTable(ctx, d.coll.Namespace, d.table)
	if err != nil {
		return nil, nil, err
	}
	if err := d.readCopies(ctx, list); err != nil {
		return nil, nil, err
	}
	after, err := d.readTable(ctx, d.coll.Namespace, before)
	if err != nil {
		return nil, nil, err
	}
	d.table = after
	for _, s := range list {
		if before.fingerprint != after.fingerprint {
			s.lastSeen = ""
			still = append(still, s)
			continue
		}
		s.verdict = after.judge.Classify(s.copies)
		if s.verdict.IsSound() {
			continue
		}
		now := s.verdict.Signature(s.copies)
		if now == s.lastSeen {
			sure = append(sure, s)
			continue
		}
		s.lastSeen = now
		still = append(still, s)
	}
	return still, sure, nil
}

// readCopies reads the copies of suspects on all shards.
func (d *documentAudit) readCopies(ctx context.Context, list []*suspectDocument) error {
	projection := bson.D{{Key: "_id", Value: int32(1)}}
	for _, f := range d.table.coll.Pattern.Fields() {
		if f != "_id" {
			projection = append(projection, bson.E{Key: f, Value: int32(1)})
		}
	}
	for begin := 0; begin < len(list); begin += maxIDsPerFind {
		part := list[begin:min(begin+maxIDsPerFind, len(list))]
		of, ids := map[string]*suspectDocument{}, bson.A{}
		for _, s := range part {
			s.copies = nil
			of[string(keyorder.Append(nil, s.id))] = s
			ids = append(ids, s.id)
		}
		for _, shard := range d.shards.ReadableShards() {
			docs, err := d.find(ctx, shard, d.coll.Namespace,
				holdings.DocumentQuery{Filter: filterByIDs(ids), Projection: projection})
			if err != nil {
				return err
			}
			for _, doc := range docs {
				if s := of[string(keyorder.Append(nil, doc.Lookup("_id")))]; s != nil {
					s.copies = append(s.copies, placement.Copy{Shard: shard.ID, Doc: doc})
				}
			}
			if err := d.rate.throttle(ctx, int64(len(docs))*d.averageDocBytes); err != nil {
				return err
			}
		}
	}
	return nil
}

func filterByIDs(ids bson.A) bson.D {
	return bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}
}

// recordConfirmed records suspects. Lone documents are also read through the router. A lone document that was
// deleted on its owner since its range moved is expected, and is not a finding.
func (d *documentAudit) recordConfirmed(ctx context.Context, sure []*suspectDocument) error {
	var waiting []*suspectDocument
	for _, s := range sure {
		if s.verdict.HasState(placement.LoneStray) || s.verdict.HasState(placement.LoneAwaitingDeletion) {
			if err := d.readRouted(ctx, s); err != nil {
				return err
			}
		}
		if s.verdict.HasState(placement.LoneAwaitingDeletion) {
			waiting = append(waiting, s)
		}
	}
	if err := d.findDeleted(ctx, waiting); err != nil {
		return err
	}
	for _, s := range sure {
		if s.verdict.IsSound() {
			continue
		}
		if err := d.findings.addSuspect(ctx, d, s); err != nil {
			return err
		}
	}
	return nil
}

// readRouted reads a lone document through the router, since its owner may be a shard that can't be
// reached directly.
func (d *documentAudit) readRouted(ctx context.Context, s *suspectDocument) error {
	doc, err := retryRead(ctx, d.readRetry,
		func() (bson.Raw, error) { return d.shards.FindByID(ctx, d.coll.Namespace, s.id) })
	if doc == nil || err != nil {
		if mongoerr.Is(err, mongoerr.Unauthorized) {
			err = nil // the shards have answered already
		}
		return err
	}
	for i, state := range s.verdict.States {
		switch state {
		case placement.LoneStray:
			s.verdict.States[i] = placement.Stray
		case placement.LoneAwaitingDeletion:
			s.verdict.States[i] = placement.AwaitingDeletion
		}
	}
	return nil
}

// findDeleted determines which documents were deleted since the migrations of their ranges began. Range
// deletions may delete the orphaned copies of such documents.
func (d *documentAudit) findDeleted(ctx context.Context, pendingDeletion []*suspectDocument) error {
	if len(pendingDeletion) == 0 {
		return nil
	}
	of := map[string]*suspectDocument{}
	for _, s := range pendingDeletion {
		of[string(keyorder.Append(nil, s.id))] = s
	}
	until, now, err := documents.ReadClusterTime(ctx, d.cluster.Client)
	if err != nil {
		return err
	}
	since := deletionsSince(pendingDeletion, now)
	err = documents.ReadDeletions(ctx, d.cluster.Client, d.coll.Namespace, since, until, func(w documents.Write) error {
		if s := of[string(keyorder.Append(nil, w.ID))]; s != nil {
			d.summary.DeletedByOwner += int64(s.expectDeletion())
		}
		return nil
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	d.addUnchecked("whether documents of %s that wait for range deletions were deleted since they moved: %v",
		d.coll.Namespace, err)
	n, first := 0, bson.RawValue{}
	for _, s := range pendingDeletion {
		if s.expectDeletion() > 0 {
			if n++; n == 1 {
				first = s.id
			}
		}
	}
	if n > 0 {
		d.addUnsettled("%s of %s, such as _id %s, are on no shard that owns them: they were deleted there, or lost",
			humanize.Count(n, "document"), d.coll.Namespace, first)
	}
	return nil
}

// expectDeletion marks the lone copies that wait for their deletion as expected, so that they are no
// finding. It returns their number.
func (s *suspectDocument) expectDeletion() (copies int) {
	for i, state := range s.verdict.States {
		if state == placement.LoneAwaitingDeletion {
			s.verdict.States[i] = placement.AwaitingDeletion
			copies++
		}
	}
	return copies
}

// deletionsSince returns the earliest beginning of a migration whose range deletion is pending. Where one is not
// recorded, as before 6.0, deletionLookback before now counts.
func deletionsSince(pending []*suspectDocument, now time.Time) (since bson.Timestamp) {
	for _, s := range pending {
		at := s.verdict.MigrationBegan
		if at.IsZero() {
			at.T = uint32(now.Add(-deletionLookback).Unix())
		}
		if since.IsZero() || at.Compare(since) < 0 {
			since = at
		}
	}
	return since
}
