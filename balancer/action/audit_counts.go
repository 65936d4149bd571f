package action

import (
	"context"
	"fmt"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live/holdings"
	"shardsh/balancer/placement"
)

// checkCounts compares the shards' document counts with the number of documents read. If they differ,
// it counts all documents again until the difference is stable while the counts do not change.
func (d *documentAudit) checkCounts(ctx context.Context) error {
	for _, s := range d.shards.ReadableShards() {
		told, err := d.readCount(ctx, s)
		if err != nil {
			return err
		}
		if told == d.docsByShard[s.ID] {
			continue
		}
		if err := d.recount(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// maxRecounts is the maximum number of times that documents are counted again. minEqualRecounts is the
// number of consecutive counts that must be equal.
const (
	maxRecounts      = 12
	minEqualRecounts = 5
)

func (d *documentAudit) recount(ctx context.Context, s *holdings.Shard) error {
	latest, same := int64(0), 0
	var told int64
	for range maxRecounts {
		before, err := d.readCount(ctx, s)
		if err != nil {
			return err
		}
		has, err := retryRead(ctx, d.readRetry, func() (int64, error) { return s.CountByScan(ctx, d.coll.Namespace) })
		if err != nil {
			return err
		}
		if told, err = d.readCount(ctx, s); err != nil {
			return err
		}
		off := told - has
		switch {
		case off == 0 || before == has:
			return nil
		case before != told || off != latest:
			latest, same = off, 1
		default:
			same++
		}
		if same == minEqualRecounts {
			d.addFindings(placement.Finding{
				Kind: placement.CountDiffers, Namespace: d.coll.Namespace, Shards: []catalog.ShardID{s.ID}, Count: max(off, -off),
				Text: fmt.Sprintf(
					"%s reports %d documents, but has %d: count() and the balancer use the reported number", s.ID, told, has),
				RepairCommands: placement.CommandsForCount(d.coll.Namespace),
			})
			return nil
		}
		if err := d.cluster.Clock.Sleep(ctx, d.RereadPause); err != nil {
			return err
		}
	}
	d.addUnsettled(
		"%s: the number of documents on %s changes too fast to be compared with the reported count", d.coll.Namespace,
		s.ID)
	return nil
}

func (d *documentAudit) readCount(ctx context.Context, s *holdings.Shard) (int64, error) {
	return retryRead(ctx, d.readRetry, func() (int64, error) { return s.Count(ctx, d.coll.Namespace) })
}
