package action

import (
	"context"
	"fmt"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live/holdings"
	"shardsh/balancer/placement"
)

// counts compares how many documents shards count with how many they have. Where that differs
// all are counted again, until the difference stays the same while the number does.
func (d *documentAudit) counts(ctx context.Context) error {
	for _, s := range d.shards.Seen() {
		told, err := d.count(ctx, s)
		if err != nil {
			return err
		}
		if told == d.each[s.ID] {
			continue
		}
		if err := d.countAgain(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// maxCounts is how often documents are counted again, sureCounts how often it has to come out
// the same in a row.
const (
	maxCounts  = 12
	sureCounts = 5
)

func (d *documentAudit) countAgain(ctx context.Context, s *holdings.Shard) error {
	latest, same := int64(0), 0
	var told int64
	for range maxCounts {
		before, err := d.count(ctx, s)
		if err != nil {
			return err
		}
		has, err := again(ctx, d.reread, func() (int64, error) { return s.CountAll(ctx, d.c.Namespace) })
		if err != nil {
			return err
		}
		if told, err = d.count(ctx, s); err != nil {
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
		if same == sureCounts {
			d.add(placement.Finding{
				Kind: placement.CountDiffers, Namespace: d.c.Namespace, Shards: []catalog.ShardID{s.ID}, Count: max(off, -off),
				Text: fmt.Sprintf("%s counts %d documents, and has %d: count() and the balancer go by the first", s.ID, told, has),
				Mend: placement.MendCount(d.c.Namespace),
			})
			return nil
		}
		if err := d.cluster.Clock.Sleep(ctx, d.SettlePause); err != nil {
			return err
		}
	}
	d.unsettled("%s: how many documents %s has changes too fast to be compared with what it counts", d.c.Namespace, s.ID)
	return nil
}

func (d *documentAudit) count(ctx context.Context, s *holdings.Shard) (int64, error) {
	return again(ctx, d.reread, func() (int64, error) { return s.Count(ctx, d.c.Namespace) })
}
